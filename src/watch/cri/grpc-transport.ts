/**
 * The connection to a gRPC server, and its recovery.
 *
 * In: bytes of requests. Out: bytes of answers, or how the call failed. It assumes that the server may go
 * away, and that the connection itself may go deaf: Node's HTTP/2 freezes one for good when an error text is
 * longer than about 64 KiB, and that limit cannot be raised. Such a text cannot be read; only the damage is
 * limited. {@link DeafConnectionWatch} finds the connection one to two seconds after a call began to wait on
 * it. Its socket is destroyed, and gRPC makes a new one at once. Of the calls in flight, the one whose answer
 * cannot be read fails with INTERNAL if it can be identified; every other one fails with UNAVAILABLE.
 *
 * @module
 */
import { type Socket } from 'node:net';
import {
  Client,
  type ClientReadableStream,
  type ClientUnaryCall,
  connectivityState,
  Metadata,
  type ServiceError,
  status as grpcStatus,
} from '@grpc/grpc-js';
import { SystemClock } from '#base/time/clock.js';
import { type GrpcTransportOptions, toChannelOptions } from './channel-options.js';
import { type DeafConnection, DeafConnectionWatch, type MovedBytes } from './deaf-connection-watch.js';
import { ObservedCredentials } from './observed-credentials.js';
import {
  type ConnectionState,
  GrpcStatusError,
  type StreamCall,
  type StreamHandlers,
  type Transport,
  type UnaryCall,
} from './transport.js';
import { startUnaryCall } from './unary-call.js';

export { type GrpcTransportOptions } from './channel-options.js';

const STATES: Record<connectivityState, ConnectionState> = {
  [connectivityState.IDLE]: 'idle',
  [connectivityState.CONNECTING]: 'connecting',
  [connectivityState.READY]: 'ready',
  [connectivityState.TRANSIENT_FAILURE]: 'failing',
  [connectivityState.SHUTDOWN]: 'closed',
};

const identity = (bytes: Buffer): Buffer => bytes;

/** An open call and its connection. */
interface OpenCall {
  readonly call: { cancel(): void };
  readonly streaming: boolean;
  /** What the connection had written when the call started; undefined if there was no connection. */
  readonly begunAt: MovedBytes | undefined;
  /** The reason why the call failed, if its connection was destroyed. */
  cutOff?: GrpcStatusError;
}

/** A {@link Transport} over @grpc/grpc-js; the messages stay bytes. */
export class GrpcTransport implements Transport {
  readonly #client: Client;
  readonly #channel: ReturnType<Client['getChannel']>;
  // Shared, as the library copies it for each call.
  readonly #noMetadata = new Metadata();
  readonly #open = new Set<OpenCall>();
  readonly #listeners = new Set<(state: ConnectionState) => void>();
  readonly #watch: DeafConnectionWatch;
  #socket: Socket | undefined;
  #reconnect = false;
  #knockElsewhere: Knock | undefined;
  #state: ConnectionState = 'idle';
  #generation = 0;

  constructor(options: GrpcTransportOptions) {
    const credentials = new ObservedCredentials({ onSocket: (socket) => (this.#socket = socket) });
    this.#client = new Client(`unix:${options.socketPath}`, credentials, toChannelOptions(options));
    this.#channel = this.#client.getChannel();
    this.#watch = new DeafConnectionWatch({
      clock: options.clock ?? new SystemClock(),
      movedBytes: () => this.#movedBytes(),
      callsWait: () => [...this.#open].some(({ streaming }) => !streaming),
      knock: () => {
        const knock = startKnock(this.#client);
        return () => knock.end();
      },
      knockElsewhere: () => (this.#knockElsewhere = startKnockElsewhere(options)).answered,
      onDeaf: (found) => this.#replaceConnection(found),
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
    this.#watch.noteCall();
    const begunAt = this.#movedBytes();
    let resolve!: (bytes: Buffer) => void;
    let reject!: (error: GrpcStatusError) => void;
    const answer = new Promise<Buffer>((resolved, rejected) => {
      resolve = resolved;
      reject = rejected;
    });
    const call = startUnaryCall({
      ...{ channel: this.#channel, path, request: asBuffer(request), metadata: this.#noMetadata },
      onEnd: (outcome) => {
        this.#open.delete(open);
        if (outcome instanceof GrpcStatusError)
          reject(open.cutOff ?? toStatusError(outcome.status, outcome.details));
        else resolve(outcome);
      },
    });
    const open: OpenCall = { call, streaming: false, begunAt };
    this.#open.add(open);
    const cancel = (): void => {
      if (this.#open.has(open)) this.#watch.noteGivenUp();
      call.cancel();
    };
    return { answer, cancel };
  }

  stream(path: string, request: Uint8Array, handlers: StreamHandlers): StreamCall {
    if (this.#state === 'closed') {
      const nothing = (): void => undefined;
      return { ended: Promise.reject(closedError()), cancel: nothing, pause: nothing, resume: nothing };
    }
    const begunAt = this.#movedBytes();
    const call = this.#client.makeServerStreamRequest(
      path,
      identity,
      identity,
      asBuffer(request),
      new Metadata(),
      {},
    );
    const open: OpenCall = { call, streaming: true, begunAt };
    this.#open.add(open);
    return {
      ended: this.#deliver(call, open, handlers),
      cancel: () => call.cancel(),
      pause: () => call.pause(),
      resume: () => call.resume(),
    };
  }

  close(): void {
    if (this.#state === 'closed') return;
    this.#watch.close();
    for (const { call } of [...this.#open]) call.cancel();
    this.#knockElsewhere?.end();
    // The watcher sets the state to closed.
    this.#client.close();
  }

  #deliver(call: ClientReadableStream<Buffer>, open: OpenCall, handlers: StreamHandlers): Promise<void> {
    return new Promise((resolve, reject) => {
      call.on('metadata', () => handlers.onOpen?.());
      call.on('data', (message: Buffer) => handlers.onMessage(message));
      call.on('error', (error: ServiceError) => {
        this.#open.delete(open);
        reject(open.cutOff ?? toStatusError(error.code, error.details));
      });
      // An error status may come without an end; with OK the end comes after the last message.
      call.on('end', () => {
        this.#open.delete(open);
        resolve();
      });
    });
  }

  #watchState(): void {
    const channel = this.#channel;
    const current = channel.getConnectivityState(false);
    const state = STATES[current];
    const changed = state !== this.#state;
    this.#state = state;
    if (state === 'ready') this.#generation++;
    if (state !== 'closed') channel.watchConnectivityState(current, Infinity, () => this.#watchState());
    if (changed) for (const listener of [...this.#listeners]) listener(state);
    if (this.#reconnect && state === 'idle') {
      this.#reconnect = false;
      channel.getConnectivityState(true);
    }
  }

  #movedBytes(): MovedBytes | undefined {
    const socket = this.#socket;
    if (socket === undefined || this.#state !== 'ready') return undefined;
    return { connection: socket, read: socket.bytesRead, written: socket.bytesWritten };
  }

  #replaceConnection({ connection, written, mute }: DeafConnection): void {
    const lost = [...this.#open].filter(({ begunAt }) => !begunAt || begunAt.connection === connection);
    // Calls that started later were never written: the answer that broke the connection belongs to one of the
    // others.
    const sent = lost.filter(
      ({ begunAt, streaming }) => !streaming && (!begunAt || begunAt.written < written),
    );
    const culprit = mute && sent.length === 1 ? sent[0] : undefined;
    for (const open of lost) open.cutOff = open === culprit ? unreadableAnswer() : connectionReplaced();
    // gRPC treats this as a broken connection: it fails the calls on it, and is idle until the next call
    // needs a new one.
    this.#socket?.destroy();
    this.#reconnect = true;
  }
}

function unreadableAnswer(): GrpcStatusError {
  const why = 'the answer cannot be read: an error text or header of more than about 64 KiB';
  return new GrpcStatusError(grpcStatus.INTERNAL, `${why}; the connection was replaced`);
}

function connectionReplaced(): GrpcStatusError {
  const why = 'the connection delivered no answers any more and was replaced';
  return new GrpcStatusError(
    grpcStatus.UNAVAILABLE,
    `${why}; an error text or header of more than about 64 KiB, of this call or another, does that`,
  );
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function toStatusError(code: number, details: string): GrpcStatusError {
  // The library appends a note on how it resolved the socket's path, which helps nobody.
  const end = details.indexOf('Resolution note:');
  return new GrpcStatusError(code, end === -1 ? details : details.slice(0, end).trimEnd());
}

function closedError(): GrpcStatusError {
  return new GrpcStatusError(grpcStatus.CANCELLED, 'the client is closed');
}

// No server implements it, so every gRPC server answers Unimplemented by itself, however busy its handlers
// are.
const KNOCK_PATH = '/podloop.Connection/Knock';
// Deadline of the second connection. Each attempt takes a place in the backlog of a stopped runtime, so there
// must be few of them.
const ELSEWHERE_DEADLINE_MS = 30_000;

/** A check whether a connection works. */
interface Knock {
  /** Never rejects: false if anything but the server itself ended it. */
  readonly answered: Promise<boolean>;
  /** Cancels it. Does nothing once it is settled. */
  end(): void;
}

/** Sends a call that the server answers without its handlers, on the client's own connection. */
function startKnock(client: Client, deadlineMs?: number): Knock {
  const bytes = (message: Buffer): Buffer => message;
  const options = deadlineMs === undefined ? {} : { deadline: Date.now() + deadlineMs };
  let call: ClientUnaryCall | undefined;
  const answered = new Promise<boolean>((resolve) => {
    call = client.makeUnaryRequest(
      KNOCK_PATH,
      bytes,
      bytes,
      Buffer.alloc(0),
      new Metadata(),
      options,
      // Any other status may come from our own library instead of the server.
      (error) => resolve(error?.code === grpcStatus.UNIMPLEMENTED),
    );
  });
  return { answered, end: () => call?.cancel() };
}

/** The same on a separate connection, which is closed afterwards. It times out after half a minute. */
function startKnockElsewhere(options: GrpcTransportOptions): Knock {
  let socket: Socket | undefined;
  const credentials = new ObservedCredentials({ onSocket: (connected) => (socket = connected) });
  const client = new Client(`unix:${options.socketPath}`, credentials, toChannelOptions(options));
  const knock = startKnock(client, ELSEWHERE_DEADLINE_MS);
  const answered = knock.answered.finally(() => {
    client.close();
    socket?.destroy();
  });
  return { answered, end: () => knock.end() };
}
