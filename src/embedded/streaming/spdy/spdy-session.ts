import { type Duplex } from 'node:stream';
import { type Clock, type ClockTimer } from '../../../util/clock.js';
import { messageOf } from '../../../util/errors.js';
import { type Logger } from '../../../util/logger.js';
import { IdleTimer } from '../idle-timer.js';
import { ReadAhead } from '../read-ahead.js';
import {
  encodeDataHead,
  encodeGoAway,
  encodePing,
  encodeRstStream,
  encodeSynReply,
  encodeWindowUpdate,
} from './encode-frame.js';
import { FrameReader } from './frame-reader.js';
import { decodeHeaderBlock, encodeHeaderBlock } from './header-block.js';
import { HeaderDeflater } from './header-deflater.js';
import { HeaderInflater } from './header-inflater.js';
import { SendWindows } from './send-windows.js';
import {
  FLAG_FIN,
  FLAG_UNIDIRECTIONAL,
  GoAwayStatus,
  INITIAL_WINDOW_BYTES,
  ResetStatus,
  SpdyError,
  type SpdyFrame,
} from './spdy-frame.js';
import { SpdyStream, type SpdyLink } from './spdy-stream.js';

/** What a {@link SpdySession} needs. */
export interface SpdySessionOptions {
  /** The upgraded connection. */
  readonly transport: Duplex;
  /** Called with each stream that the client opens: to be accepted or refused at once. */
  readonly onStream: (stream: SpdyStream) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly idleTimeoutMs: number;
  /** Ends the transport behind what was written; `transport.end()` unless told. */
  readonly endTransport?: () => void;
}

/** Open streams at once; a forwarded connection has two. A further one is refused. */
export const MOST_STREAMS = 512;
/** So much waits for slow readers, over all streams, before the connection is not read any more. */
const READ_AHEAD_BYTES = 1024 * 1024;
/** So much of replies to frames may wait for a client that does not read before no more frames are read. */
const REPLY_BYTES = 64 * 1024;
/** A write every so often shows a client that died while its connection was not being read. */
const HEARTBEAT_MS = 5_000;
/** How long a client may take to close the connection after us, before its last bytes are lost to it. */
const LINGER_MS = 5_000;
const LARGEST_PING = 2 ** 32 - 2;

/**
 * The server's side of a SPDY/3.1 connection, as Kubernetes uses it: clients open streams, we answer on them.
 *
 * Windows: the clients that there are (all built on spdystream) neither count nor grant any, so both sides are slowed
 * down by the connection itself. We grant what was read, as the protocol wants it, and keep to a client's windows
 * from the first sign that it counts; see {@link SendWindows}.
 */
export class SpdySession {
  readonly #options: SpdySessionOptions;
  readonly #streams = new Map<number, SpdyStream>();
  readonly #reader = new FrameReader();
  readonly #inflater = new HeaderInflater();
  readonly #deflater = new HeaderDeflater();
  readonly #windows = new SendWindows();
  readonly #readAhead = new ReadAhead({ limitBytes: READ_AHEAD_BYTES });
  readonly #replies = new ReadAhead({ limitBytes: REPLY_BYTES });
  readonly #gone = new AbortController();
  readonly #idle: IdleTimer;
  readonly #link: SpdyLink;
  #heartbeat: ClockTimer | undefined;
  #linger: ClockTimer | undefined;
  #lastStream = 0;
  #lastPing = 0;
  #unacknowledged = 0;
  #closing = false;

  constructor(options: SpdySessionOptions) {
    this.#options = options;
    const { transport, clock, idleTimeoutMs } = options;
    this.#idle = new IdleTimer({ clock, timeoutMs: idleTimeoutMs, onIdle: () => transport.destroy() });
    this.#link = {
      sendReply: ({ id }) =>
        this.#reply(encodeSynReply(id, this.#deflater.deflate(encodeHeaderBlock(new Map())))),
      sendData: (stream, data, callback) => this.#sendData(stream, data, callback),
      sendEnd: (stream, callback) => {
        this.#write([encodeDataHead(stream.id, 0, true)], callback);
        this.#forgetIfClosed(stream);
      },
      sendReset: (stream, status) => {
        this.#reply(encodeRstStream(stream.id, status));
        this.#forgetIfClosed(stream);
      },
      take: (cost) => this.#readAhead.take(cost),
      release: (stream, cost, bytes) => {
        this.#readAhead.release(cost);
        this.#acknowledge(stream, bytes);
      },
    };
    transport.on('error', () => undefined);
    transport.once('close', () => this.#end());
  }

  /** Aborts when the client is gone, or was idle for too long. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  /** Serves the client until the connection is closed, by whomever. Never rejects. */
  async run(): Promise<void> {
    const { transport, logger } = this.#options;
    const closed = new Promise<void>((resolve) => {
      if (transport.closed) resolve();
      else transport.once('close', () => resolve());
    });
    this.#planHeartbeat();
    try {
      for await (const chunk of transport.iterator({ destroyOnReturn: false })) {
        for (const frame of this.#reader.push(chunk as Buffer)) await this.#handle(frame);
        await this.#replies.room();
        await this.#readAhead.room();
      }
      this.#shutDown(GoAwayStatus.ok);
    } catch (error) {
      logger.info('SPDY connection broken', { err: messageOf(error) }, 4);
      if (error instanceof SpdyError) this.#shutDown(GoAwayStatus.protocolError);
      else transport.destroy();
    }
    await closed;
  }

  /** Closes the connection behind everything that was sent, and resolves once it is closed. */
  async close(): Promise<void> {
    const { transport } = this.#options;
    const closed = new Promise<void>((resolve) => {
      if (transport.closed) resolve();
      else transport.once('close', () => resolve());
    });
    this.#shutDown(GoAwayStatus.ok);
    await closed;
  }

  #handle(frame: SpdyFrame): Promise<void> | undefined {
    switch (frame.type) {
      case 'data':
        this.#receiveData(frame);
        return undefined;
      case 'syn-stream':
        return this.#openStream(frame);
      case 'headers':
      case 'syn-reply':
        return this.#receiveHeaders(frame);
      case 'rst-stream':
        this.#forget(frame.stream)?.abandon();
        return undefined;
      case 'ping':
        // Even numbers are ours, come back.
        if (frame.id % 2 === 1) this.#reply(encodePing(frame.id));
        return undefined;
      case 'window-update':
        this.#receiveWindow(frame.stream, frame.delta);
        return undefined;
      case 'settings':
        if (frame.initialWindow !== undefined) {
          this.#windows.setInitial(frame.initialWindow, this.#streams.values());
        }
        return undefined;
      case 'go-away':
        this.#shutDown(GoAwayStatus.ok);
        return undefined;
      case 'unknown':
        return undefined;
    }
  }

  async #openStream(frame: SpdyFrame & { type: 'syn-stream' }): Promise<void> {
    // Read even when nobody wants it: the next block builds on it.
    const headers = decodeHeaderBlock(await this.#inflater.inflate(frame.block));
    if (this.#closing) return;
    const { stream: id, flags } = frame;
    if (id % 2 === 0 || id <= this.#lastStream) {
      this.#reply(encodeRstStream(id, ResetStatus.protocolError));
      return;
    }
    this.#lastStream = id;
    if (this.#streams.size >= MOST_STREAMS) {
      this.#reply(encodeRstStream(id, ResetStatus.refusedStream));
      return;
    }
    this.#idle.touch();
    const remoteEnded = (flags & FLAG_FIN) !== 0;
    const localEnded = (flags & FLAG_UNIDIRECTIONAL) !== 0;
    const stream = new SpdyStream({ id, headers, link: this.#link, remoteEnded, localEnded });
    stream.sendWindow = this.#windows.initial;
    this.#streams.set(id, stream);
    this.#options.onStream(stream);
  }

  async #receiveHeaders(frame: SpdyFrame & { type: 'headers' | 'syn-reply' }): Promise<void> {
    decodeHeaderBlock(await this.#inflater.inflate(frame.block));
    if ((frame.flags & FLAG_FIN) === 0) return;
    this.#receiveData({ type: 'data', stream: frame.stream, payload: Buffer.alloc(0), fin: true });
  }

  #receiveData({ stream: id, payload, fin }: SpdyFrame & { type: 'data' }): void {
    this.#idle.touch();
    const stream = this.#streams.get(id);
    if (stream === undefined || stream.remoteEnded) {
      // On its way when we closed the stream: it counts for the connection all the same.
      this.#acknowledge(undefined, payload.length);
      return;
    }
    stream.receive(payload, fin);
    this.#forgetIfClosed(stream);
  }

  #receiveWindow(id: number, delta: number): void {
    const stream = id === 0 ? undefined : this.#streams.get(id);
    if (id !== 0 && stream === undefined) return;
    if (this.#windows.widen(stream, delta)) return;
    if (stream === undefined) throw new SpdyError('a window beyond all bounds');
    this.#forget(stream.id)?.reset(ResetStatus.flowControlError);
  }

  #sendData(stream: SpdyStream, data: Buffer, callback: (error?: Error | null) => void): void {
    if (!stream.writable) {
      callback(new Error('the stream is closed'));
      return;
    }
    const part = this.#windows.take(stream, data, () => this.#sendData(stream, data, callback));
    if (part === undefined) return;
    this.#idle.touch();
    this.#write([encodeDataHead(stream.id, part.length, false), part], (error) => {
      if (error || part.length === data.length) callback(error);
      else this.#sendData(stream, data.subarray(part.length), callback);
    });
  }

  /** Tells the client that it may send as much again, in large steps. */
  #acknowledge(stream: SpdyStream | undefined, bytes: number): void {
    const step = INITIAL_WINDOW_BYTES / 2;
    this.#unacknowledged += bytes;
    if (this.#unacknowledged >= step) {
      this.#reply(encodeWindowUpdate(0, this.#unacknowledged));
      this.#unacknowledged = 0;
    }
    if (stream === undefined) return;
    stream.unacknowledged += bytes;
    if (stream.unacknowledged < step || stream.remoteEnded || stream.closed) return;
    this.#reply(encodeWindowUpdate(stream.id, stream.unacknowledged));
    stream.unacknowledged = 0;
  }

  /** Sends a frame that the client's own frames have caused: if it does not read, ours wait, and then its own. */
  #reply(frame: Buffer): void {
    this.#replies.take(frame.length);
    this.#write([frame], () => this.#replies.release(frame.length));
  }

  #write(parts: readonly Buffer[], callback: (error?: Error | null) => void): void {
    const { transport } = this.#options;
    if (!transport.writable) {
      callback(new Error('the connection is closed'));
      return;
    }
    transport.cork();
    const last = parts.length - 1;
    for (const [at, part] of parts.entries()) {
      if (at === last) transport.write(part, callback);
      else transport.write(part);
    }
    transport.uncork();
  }

  #forgetIfClosed(stream: SpdyStream): void {
    if (stream.closed) this.#forget(stream.id);
  }

  #forget(id: number): SpdyStream | undefined {
    const stream = this.#streams.get(id);
    this.#streams.delete(id);
    return stream;
  }

  /** Says goodbye, ends the transport and gives the client a while to read what was sent. */
  #shutDown(status: number): void {
    if (this.#closing) return;
    this.#closing = true;
    const { transport, clock, endTransport } = this.#options;
    this.#write([encodeGoAway(this.#lastStream, status)], () => undefined);
    this.#abandonStreams();
    this.#linger = clock.setTimer(LINGER_MS, () => transport.destroy(), { unref: true });
    if (endTransport === undefined) transport.end();
    else endTransport();
    this.#gone.abort(new Error('the client is gone'));
    // A transport whose end was read already closes by itself; nobody reads one that broke the protocol.
    if (status !== GoAwayStatus.ok) transport.resume();
  }

  #abandonStreams(): void {
    for (const stream of this.#streams.values()) stream.abandon();
    this.#streams.clear();
    this.#readAhead.abandon();
    this.#replies.abandon();
    this.#windows.close();
  }

  #end(): void {
    this.#closing = true;
    this.#idle.stop();
    this.#heartbeat?.cancel();
    this.#linger?.cancel();
    this.#inflater.close();
    this.#abandonStreams();
    this.#gone.abort(new Error('the client is gone'));
  }

  #planHeartbeat(): void {
    this.#heartbeat = this.#options.clock.setTimer(
      HEARTBEAT_MS,
      () => {
        this.#lastPing = this.#lastPing >= LARGEST_PING ? 2 : this.#lastPing + 2;
        if (this.#options.transport.writable) this.#reply(encodePing(this.#lastPing));
        this.#planHeartbeat();
      },
      { unref: true },
    );
  }
}
