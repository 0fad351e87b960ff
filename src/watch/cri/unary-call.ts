import { type Client, type Metadata, status as grpcStatus } from '@grpc/grpc-js';

import { GrpcStatusError } from './transport.js';

type Channel = ReturnType<Client['getChannel']>;

/** What {@link startUnaryCall} sends, and whom it tells. */
export interface UnaryCallStart {
  readonly channel: Channel;
  readonly path: string;
  readonly request: Buffer;
  /** Sent as it is; one object may serve many calls. */
  readonly metadata: Metadata;
  /** Called once, never before `startUnaryCall` has returned. */
  readonly onEnd: (outcome: Buffer | GrpcStatusError) => void;
}

/**
 * Makes a unary call on a channel, without what the library's own `makeUnaryRequest` puts between: interceptors, of
 * which there are none, an emitter, and an error that is made beforehand for each call so that a failure can show
 * who made it. Each costs a little, and a burst of status calls is thousands of them.
 *
 * It has no deadline.
 */
export function startUnaryCall({ channel, path, request, metadata, onEnd }: UnaryCallStart): {
  cancel(): void;
} {
  const call = channel.createCall(path, Number.POSITIVE_INFINITY, null, null, null);
  let answer: Buffer | undefined;
  call.start(metadata, {
    onReceiveMetadata: () => undefined,
    onReceiveMessage: (message: Buffer) => {
      if (answer === undefined) answer = message;
      else
        call.cancelWithStatus(
          grpcStatus.UNIMPLEMENTED,
          'more than one message in the answer to a unary call',
        );
    },
    onReceiveStatus: ({ code, details }) => {
      if (code !== grpcStatus.OK) onEnd(new GrpcStatusError(code, details));
      else
        onEnd(
          answer ?? new GrpcStatusError(grpcStatus.UNIMPLEMENTED, 'no message in the answer to a unary call'),
        );
    },
  });
  call.startRead();
  call.sendMessageWithContext({}, request);
  call.halfClose();
  return { cancel: () => call.cancelWithStatus(grpcStatus.CANCELLED, 'the caller gave the call up') };
}
