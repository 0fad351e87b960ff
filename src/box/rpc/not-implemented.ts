import { Metadata, status, type handleServerStreamingCall, type handleUnaryCall } from '@grpc/grpc-js';

/** The calls of CRI that this runtime does not have yet, and what it answers. */
const NOT_IMPLEMENTED = {
  checkpointContainer: 'the state of a process cannot be saved by this runtime',
} as const;

/** Answers UNIMPLEMENTED with the sentence of the table. */
export function notImplemented<Q, R>(
  operation: keyof typeof NOT_IMPLEMENTED,
): handleUnaryCall<Q, R> & handleServerStreamingCall<Q, R> {
  const answer = {
    code: status.UNIMPLEMENTED,
    details: `${operation}: ${NOT_IMPLEMENTED[operation]}`,
    metadata: new Metadata(),
  };
  // One function for both kinds: grpc-js gives unary handlers a callback and streaming ones a stream.
  return (
    call: { emit(event: string, ...args: unknown[]): boolean },
    callback?: (error: typeof answer) => void,
  ) => {
    if (callback === undefined) call.emit('error', answer);
    else callback(answer);
  };
}
