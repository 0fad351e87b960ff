import { type CriConnectionChange } from '#base/channels/channels.js';

/** The state of a connection, derived from gRPC's. */
export type ConnectionState = CriConnectionChange['state'];

/** A call whose answer is one message. */
export interface UnaryCall {
  /** The bytes of the answer; rejects with a {@link GrpcStatusError}. */
  readonly answer: Promise<Buffer>;
  /** Cancels the call; `answer` then rejects with CANCELLED. Does nothing once it has settled. */
  cancel(): void;
}

/** A call whose answer is a stream of messages. */
export interface StreamCall {
  /** Resolves when the server ends the stream with OK; rejects with a {@link GrpcStatusError}. */
  readonly ended: Promise<void>;
  cancel(): void;
  /** Stops the delivery of messages; flow control makes the server wait. */
  pause(): void;
  resume(): void;
}

/** Handlers that a {@link StreamCall} calls synchronously, in the order of arrival. */
export interface StreamHandlers {
  /** The server has sent its headers: it has accepted the call. */
  onOpen?(): void;
  onMessage(message: Buffer): void;
}

/**
 * Sends bytes to a gRPC server and returns its answers. It knows neither CRI nor deadlines: those are the
 * client's.
 *
 * It reconnects by itself for as long as it is open. A call made while the server is away fails at once with
 * UNAVAILABLE. A connection that delivers nothing any more while the server answers on another one is
 * replaced; the calls on it fail instead of waiting for their deadlines.
 */
export interface Transport {
  unary(path: string, request: Uint8Array): UnaryCall;
  stream(path: string, request: Uint8Array, handlers: StreamHandlers): StreamCall;
  readonly state: ConnectionState;
  /**
   * How many times the connection has come up. What was learnt about a server is valid for one generation.
   */
  readonly generation: number;
  /** Calls `listener` at each change of `state`. Returns a function that unsubscribes. */
  onStateChange(listener: (state: ConnectionState) => void): () => void;
  /** Closes the connection and fails every call on it (CANCELLED). Idempotent. */
  close(): void;
}

/** The gRPC status codes by number: https://grpc.io/docs/guides/status-codes/ */
const GRPC_STATUS_NAMES = [
  'OK',
  'Canceled',
  'Unknown',
  'InvalidArgument',
  'DeadlineExceeded',
  'NotFound',
  'AlreadyExists',
  'PermissionDenied',
  'ResourceExhausted',
  'FailedPrecondition',
  'Aborted',
  'OutOfRange',
  'Unimplemented',
  'Internal',
  'Unavailable',
  'DataLoss',
  'Unauthenticated',
] as const;

/** How a call failed, in gRPC's terms; callers of the client never see this error. */
export class GrpcStatusError extends Error {
  override readonly name = 'GrpcStatusError';
  /** One of gRPC's status numbers. */
  readonly status: number;
  /** The server's own text. */
  readonly details: string;

  constructor(status: number, details: string) {
    super(`rpc error: code = ${GRPC_STATUS_NAMES[status] ?? `Code(${status})`} desc = ${details}`);
    this.status = status;
    this.details = details;
  }
}
