import { type Socket } from 'node:net';
import { type Logger } from '#base/log/logger.js';
import { type CallHeaders, type CallInterceptor, type SideName } from './call-handler.js';
import { findHeader } from './hpack/header-field.js';
import { HpackError } from './hpack/hpack-error.js';
import { FrameDirection } from './frame-direction.js';
import { ProtocolError } from './protocol-error.js';
import { RelayedCall } from './relayed-call.js';
import { type ReusedBuffer } from './reused-buffer.js';

/** A connection of a client, and the one to the server that was made for it. */
export interface RelayConnectionOptions {
  readonly id: number;
  readonly client: Socket;
  readonly server: Socket;
  /** What the server's socket reads into. */
  readonly serverReads: ReusedBuffer;
  readonly intercept: CallInterceptor;
  readonly logger: Logger;
  /** How long one end may say nothing, in milliseconds, after the other has said its last word. */
  readonly lingerMs: number;
  readonly onClosed: () => void;
}

/** Maximum of finished calls that are remembered, as frames for them may still come. */
const MAX_FINISHED_CALLS = 1_000;

/** Two sockets, and what flows between them. */
export class RelayConnection {
  readonly #options: RelayConnectionOptions;
  readonly #calls = new Map<number, RelayedCall>();
  readonly #requests: FrameDirection;
  readonly #responses: FrameDirection;
  /** What is to be done once what has just come went on. */
  readonly #afterwards: (() => void)[] = [];
  #lastStreamId = 0;
  #opaque = false;
  #closed = false;

  constructor(options: RelayConnectionOptions) {
    this.#options = options;
    const { client, server, serverReads } = options;
    this.#requests = this.#createLane('request', client, server);
    this.#responses = this.#createLane('response', server, client);
    this.#requests.opposite = this.#responses;
    this.#responses.opposite = this.#requests;
    client.on('data', (chunk: Buffer) => this.#take(this.#requests, client, chunk));
    serverReads.onChunk = (chunk) => this.#take(this.#responses, server, chunk);
    serverReads.isFree = () => client.writableLength === 0 && !this.#responses.forgetKept();
    this.#carry(this.#requests, client, server);
    this.#carry(this.#responses, server, client);
  }

  /** Cuts it in both directions, as when a process is killed. */
  break(): void {
    this.#options.client.destroy();
    this.#options.server.destroy();
  }

  #createLane(name: SideName, source: Socket, sink: Socket): FrameDirection {
    return new FrameDirection({
      name,
      findCall: (streamId) => this.#calls.get(streamId),
      calls: () => this.#calls.values(),
      beginCall: (streamId, headers) => (name === 'request' ? this.#beginCall(streamId, headers) : undefined),
      onFlowing: () => {
        if (!sink.writableNeedDrain) source.resume();
      },
      write: (buffers) => {
        if (sink.destroyed || sink.writableEnded) return;
        if (buffers.length > 1) sink.cork();
        let hasRoom = true;
        for (const buffer of buffers) hasRoom = sink.write(buffer);
        if (buffers.length > 1) {
          sink.uncork();
          hasRoom = !sink.writableNeedDrain;
        }
        if (!hasRoom) source.pause();
      },
    });
  }

  #take(lane: FrameDirection, source: Socket, chunk: Buffer): void {
    try {
      lane.push(chunk);
      for (const act of this.#afterwards.splice(0)) act();
    } catch (error) {
      this.#onUnreadable(lane, error);
    }
    if (lane.scanner.stalled) source.pause();
  }

  #carry(lane: FrameDirection, source: Socket, sink: Socket): void {
    sink.on('drain', () => {
      if (!lane.scanner.stalled) source.resume();
    });
    source.on('end', () => {
      sink.end();
      // Mostly it is gone altogether, which cannot be told from having said all, and some servers then wait for ever.
      sink.setTimeout(this.#options.lingerMs, () => this.break());
    });
    source.on('error', (error: NodeJS.ErrnoException) => {
      this.#options.logger.info('A relayed connection broke', { side: lane.name, err: error.message }, 4);
      sink.destroy();
    });
    source.on('close', () => {
      // What was written before is still delivered.
      if (!sink.destroyed) sink.destroySoon();
      this.#close();
    });
  }

  #beginCall(streamId: number, headers: CallHeaders): RelayedCall | undefined {
    if (streamId <= this.#lastStreamId) return undefined;
    this.#lastStreamId = streamId;
    const path = findHeader(headers.fields, ':path');
    if (path === undefined) return undefined;
    const plan = this.#options.intercept({ path, fields: headers.fields });
    if (plan === undefined) return undefined;
    const call = new RelayedCall({
      ...{ path, streamId, connectionId: this.#options.id },
      ...{ requests: this.#requests, responses: this.#responses },
      breakConnection: () => this.break(),
      afterForwarding: (act) => void this.#afterwards.push(act),
      onGone: () => this.#calls.delete(streamId),
    });
    call.begin(plan);
    this.#calls.set(streamId, call);
    this.#forgetOld();
    return call;
  }

  #forgetOld(): void {
    if (this.#calls.size <= MAX_FINISHED_CALLS) return;
    for (const [streamId, call] of this.#calls) {
      if (this.#calls.size <= MAX_FINISHED_CALLS) return;
      if (call.isClosed) this.#calls.delete(streamId);
    }
  }

  /** Bytes that are no HTTP/2 go on as they are, as long as nothing on the connection was changed. */
  #onUnreadable(lane: FrameDirection, error: unknown): void {
    const { logger, id } = this.#options;
    const isTheirs = error instanceof ProtocolError || error instanceof HpackError;
    if (!isTheirs) logger.error('The relay failed, the connection is cut', error, { connection: id });
    if (!isTheirs || this.#calls.size > 0 || this.#requests.isAltered || this.#responses.isAltered) {
      if (isTheirs) logger.warn('A connection cannot be read any more and is cut', { err: error.message });
      this.break();
      return;
    }
    if (this.#opaque) return;
    this.#opaque = true;
    logger.warn('A connection cannot be read: its bytes pass, no rule applies to it', {
      ...{ connection: id, side: lane.name, err: error.message },
    });
    this.#requests.scanner.goOpaque();
    this.#responses.scanner.goOpaque();
  }

  #close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const call of this.#calls.values()) {
      try {
        call.abandon();
      } catch (error) {
        // Its handler's; the others are to hear of it all the same.
        this.#options.logger.error('The end of a call could not be handled', error, { path: call.path });
      }
    }
    this.#calls.clear();
    this.#options.onClosed();
  }
}
