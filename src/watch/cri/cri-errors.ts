import { type ErrorCode, PodloopError } from '#base/errors/errors.js';

import { GrpcStatusError } from './transport.js';

/** What an error message says about the call besides its status. */
export interface FailedCall {
  /** The kubelet's operation_type, or another short name of the operation. */
  readonly operation: string;
  /** The object of the call: `container 0123… of pod default/web`; empty if there is none. */
  readonly subject: string;
}

const CODES: readonly ErrorCode[] = [
  // OK is never an error; a server that fails a call with it has broken the protocol.
  'CRI_INTERNAL',
  'CRI_CANCELLED',
  'CRI_UNKNOWN',
  'CRI_INVALID_ARGUMENT',
  'CRI_DEADLINE_EXCEEDED',
  'CRI_NOT_FOUND',
  'CRI_ALREADY_EXISTS',
  'CRI_PERMISSION_DENIED',
  'CRI_RESOURCE_EXHAUSTED',
  'CRI_FAILED_PRECONDITION',
  'CRI_ABORTED',
  'CRI_OUT_OF_RANGE',
  'CRI_UNIMPLEMENTED',
  'CRI_INTERNAL',
  'CRI_UNAVAILABLE',
  'CRI_DATA_LOSS',
  'CRI_UNAUTHENTICATED',
];

// The limit is podloop's own, so the message needs a hint for it.
const TOO_LARGE = /message larger than max/i;
const TOO_LARGE_HINT = '; raise maxReceiveMessageBytes, or remove dead containers';

/**
 * Converts any failure of a call into a PodloopError.
 *
 * The message reads `<operation> of <subject>: rpc error: code = NotFound desc = …`. After the colon it is
 * the text that the kubelet and crictl print, so that people find it by the words they know.
 */
export function toPodloopError(error: unknown, call: FailedCall): PodloopError {
  if (error instanceof PodloopError) return error;
  const head = call.subject === '' ? call.operation : `${call.operation} of ${call.subject}`;
  if (error instanceof GrpcStatusError) {
    const code = CODES[error.status] ?? 'CRI_UNKNOWN';
    const hint = code === 'CRI_RESOURCE_EXHAUSTED' && TOO_LARGE.test(error.details) ? TOO_LARGE_HINT : '';
    return new PodloopError(code, `${head}: ${error.message}${hint}`, { cause: error });
  }
  return new PodloopError('CRI_UNKNOWN', `${head}: ${String(error)}`, { cause: error });
}

/** The answer came, but cannot be decoded as the method's response. */
export function toMalformedResponse(
  error: unknown,
  call: FailedCall & { readonly method: string },
): PodloopError {
  const head = call.subject === '' ? call.operation : `${call.operation} of ${call.subject}`;
  const why = error instanceof Error ? error.message : String(error);
  return new PodloopError(
    'CRI_MALFORMED_RESPONSE',
    `${head}: the answer to ${call.method} cannot be decoded: ${why}`,
    {
      cause: error,
    },
  );
}

/** Our own deadline passed. The text is Go's, which is what people search for. */
export function deadlineExceeded(call: FailedCall, deadlineMs: number): PodloopError {
  const cause = new GrpcStatusError(4, `context deadline exceeded (no answer within ${deadlineMs} ms)`);
  return toPodloopError(cause, call);
}
