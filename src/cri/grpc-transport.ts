import {
  type ClientReadableStream,
  type ClientUnaryCall,
  Client,
  connectivityState,
  credentials,
  Metadata,
  type ServiceError,
  status as grpcStatus,
} from '@grpc/grpc-js';

import {
  type ConnectionState,
  GrpcStatusError,
  type StreamCall,
  type StreamHandlers,
  type Transport,
  type UnaryCall,
} from './transport.js';

/** How to reach a gRPC server on a unix socket. */
export interface GrpcTransportOptions {
  /** Absolute path of the socket. */
  readonly socketPath: string;
  /** A larger message fails its call with RESOURCE_EXHAUSTED; 16 MiB unless told. */
  readonly maxReceiveMessageBytes?: number;
  /** What is said in front of the library's own user agent. */
  readonly userAgent?: string;
}

/** The receive limit unless told: the kubelet's. */
export const DEFAULT_MAX_RECEIVE_MESSAGE_BYTES = 16 * 1024 * 1024;

const FLOW_CONTROL_WINDOW_BYTES = 16 * 1024 * 1024;
// A local socket is cheap to try. With gRPC's own second to two minutes the agent would stay blind for long
// after the runtime is back.
const RECONNECT_BACKOFF_MS = 100;

const STATES: Record<connectivityState, ConnectionState> = {
  [connectivityState.IDLE]: 'idle',
  [connectivityState.CONNECTING]: 'connecting',
  [connectivityState.READY]: 'ready',
  [connectivityState.TRANSIENT_FAILURE]: 'failing',
  [connectivityState.SHUTDOWN]: 'closed',
};

const identity = (bytes: Buffer): Buffer => bytes;

/** A {@link Transport} over @grpc/grpc-js; the messages stay bytes. */
export class GrpcTransport implements Transport {
  readonly #client: Client;
  readonly #open = new Set<{ cancel(): void }>();
  readonly #listeners = new Set<(state: ConnectionState) => void>();
  #state: ConnectionState = 'idle';
  #generation = 0;

  constructor(options: GrpcTransportOptions) {
    this.#client = new Client(`unix:${options.socketPath}`, credentials.createInsecure(), {
      'grpc.max_receive_message_length': options.maxReceiveMessageBytes ?? DEFAULT_MAX_RECEIVE_MESSAGE_BYTES,
      'grpc.max_send_message_length': -1,
      'grpc-node.flow_control_window': FLOW_CONTROL_WINDOW_BYTES,
      'grpc.initial_reconnect_backoff_ms': RECONNECT_BACKOFF_MS,
      'grpc.max_reconnect_backoff_ms': RECONNECT_BACKOFF_MS,
      'grpc.primary_user_agent': options.userAgent ?? 'podloop',
      // The path of a unix socket is no valid :authority; Go servers refuse it.
      'grpc.default_authority': 'localhost',
      // Of its own: closing one client must not depend on another one to the same runtime.
      'grpc.use_local_subchannel_pool': 1,
      // A change that was sent must never be sent twice behind our back.
      'grpc.enable_retries': 0,
      'grpc.enable_http_proxy': 0,
      'grpc.enable_channelz': 0,
      'grpc.service_config_disable_resolution': 1,
    });
    this.#watchState();
  }

  get state(): ConnectionState {
    return this.#state;
  }

  get generation(): number {
    return this.#generation;
  }

  onStateChange(listener: (state: ConnectionState) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  unary(path: string, request: Uint8Array): UnaryCall {
    if (this.#state === 'closed') return { answer: Promise.reject(closedError()), cancel: () => undefined };
    let call: ClientUnaryCall | undefined;
    const answer = new Promise<Buffer>((resolve, reject) => {
      call = this.#client.makeUnaryRequest(
        path,
        identity,
        identity,
        asBuffer(request),
        new Metadata(),
        {},
        (error: ServiceError | null, bytes?: Buffer) => {
          if (call !== undefined) this.#open.delete(call);
          if (error !== null) reject(toStatusError(error));
          else resolve(bytes!);
        },
      );
      this.#open.add(call);
    });
    return { answer, cancel: () => call?.cancel() };
  }

  stream(path: string, request: Uint8Array, handlers: StreamHandlers): StreamCall {
    if (this.#state === 'closed') {
      const nothing = (): void => undefined;
      return { ended: Promise.reject(closedError()), cancel: nothing, pause: nothing, resume: nothing };
    }
    const call = this.#client.makeServerStreamRequest(
      path,
      identity,
      identity,
      asBuffer(request),
      new Metadata(),
      {},
    );
    this.#open.add(call);
    return {
      ended: this.#deliver(call, handlers),
      cancel: () => call.cancel(),
      pause: () => call.pause(),
      resume: () => call.resume(),
    };
  }

  close(): void {
    if (this.#state === 'closed') return;
    for (const call of [...this.#open]) call.cancel();
    // The watcher takes the state to closed.
    this.#client.close();
  }

  #deliver(call: ClientReadableStream<Buffer>, handlers: StreamHandlers): Promise<void> {
    return new Promise((resolve, reject) => {
      call.on('metadata', () => handlers.onOpen?.());
      call.on('data', (message: Buffer) => handlers.onMessage(message));
      call.on('error', (error: ServiceError) => {
        this.#open.delete(call);
        reject(toStatusError(error));
      });
      // With an error status there is no end worth waiting for; with OK the end comes after the last message.
      call.on('end', () => {
        this.#open.delete(call);
        resolve();
      });
    });
  }

  #watchState(): void {
    const channel = this.#client.getChannel();
    const current = channel.getConnectivityState(false);
    const state = STATES[current];
    const changed = state !== this.#state;
    this.#state = state;
    if (state === 'ready') this.#generation++;
    if (state !== 'closed') channel.watchConnectivityState(current, Infinity, () => this.#watchState());
    if (changed) for (const listener of [...this.#listeners]) listener(state);
  }
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function toStatusError(error: ServiceError): GrpcStatusError {
  return new GrpcStatusError(error.code, error.details);
}

function closedError(): GrpcStatusError {
  return new GrpcStatusError(grpcStatus.CANCELLED, 'the client is closed');
}
