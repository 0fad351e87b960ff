import { type status } from '@grpc/grpc-js';

/** Codes of gRPC without its library, which the thread that unpacks images does without. Source: gRPC's status codes. */
export const RpcCode = {
  ...{ UNKNOWN: 2, INVALID_ARGUMENT: 3, NOT_FOUND: 5, RESOURCE_EXHAUSTED: 8, FAILED_PRECONDITION: 9 },
  UNIMPLEMENTED: 12,
} as const satisfies Partial<Record<keyof typeof status, number>>;

/**
 * A refusal that reaches the caller as a gRPC status.
 *
 * The codes are those that containerd gives for the same request, even where another one would be more telling:
 * agents are written against what containerd says. Anything else that is thrown becomes UNKNOWN, as there.
 */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly code: status;

  constructor(code: status, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

/** The object is not there: NOT_FOUND. */
export function notFound(kind: 'sandbox' | 'running sandbox' | 'container', id: string): RpcError {
  return new RpcError(RpcCode.NOT_FOUND, `${kind} "${id}" does not exist`);
}

/** The request itself is wrong: INVALID_ARGUMENT. */
export function invalidArgument(message: string): RpcError {
  return new RpcError(RpcCode.INVALID_ARGUMENT, message);
}

/** This runtime cannot do it yet, or ever; the sentence says which and why: UNIMPLEMENTED. */
export function unimplemented(message: string): RpcError {
  return new RpcError(RpcCode.UNIMPLEMENTED, message);
}

/** A refusal for which containerd has no code of its own: UNKNOWN. */
export function refused(message: string): RpcError {
  return new RpcError(RpcCode.UNKNOWN, message);
}
