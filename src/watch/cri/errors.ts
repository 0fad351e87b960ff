import { type ErrorCode, PodloopError } from '#base/errors/errors.js';

import { GrpcStatusError } from './transport.js';

/** What an error message says of a call beside the status. */
export interface FailedCall {
  /** The kubelet's operation_type, or another short name of what was tried. */
  readonly operation: string;
  /** What it was about: `container 0123… of pod default/web`; empty when it has no object. */
  readonly subject: string;
}

const CODES: readonly ErrorCode[] = [
  // OK never is an error; a server that fails a call with it has broken the protocol.
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

// The limit is our own then, not the runtime's, and so is the remedy.
const TOO_LARGE = /message larger than max/i;
const TOO_LARGE_HINT = '; raise maxReceiveMessageBytes, or remove dead containers';

/**
 * Turns whatever a call failed with into the one error class.
 *
 * The message reads `<operation> of <subject>: rpc error: code = NotFound desc = …`: behind the colon it is what
 * the kubelet and crictl print, so that people find it with the words they know.
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

/** The answer came, but is not what the method answers with. */
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

/** Our own deadline passed: worded as Go's, which is what people search for. */
export function deadlineExceeded(call: FailedCall, deadlineMs: number): PodloopError {
  const cause = new GrpcStatusError(4, `context deadline exceeded (no answer within ${deadlineMs} ms)`);
  return toPodloopError(cause, call);
}
