import { type Duplex } from 'node:stream';
import { type Clock, type ClockTimer } from '../../../util/clock.js';
import { messageOf } from '../../../util/errors.js';
import { type Logger } from '../../../util/logger.js';
import { IdleTimer } from '../idle-timer.js';
import { ReadAhead } from '../read-ahead.js';
import { encodeGoAway, encodePing, encodeRstStream, encodeSynReply } from './encode-frame.js';
import { FrameReader } from './frame-reader.js';
import { decodeHeaderBlock, encodeHeaderBlock } from './header-block.js';
import { HeaderDeflater } from './header-deflater.js';
import { HeaderInflater } from './header-inflater.js';
import {
  FLAG_FIN,
  FLAG_UNIDIRECTIONAL,
  GoAwayStatus,
  ResetStatus,
  SpdyError,
  type SpdyFrame,
} from './spdy-frame.js';
import { SpdyOutput } from './spdy-output.js';
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
/** How long a client may take to close the connection after us, before its last bytes are lost to it. */
const LINGER_MS = 5_000;

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
  readonly #readAhead = new ReadAhead({ limitBytes: READ_AHEAD_BYTES });
  readonly #output: SpdyOutput;
  readonly #gone = new AbortController();
  readonly #idle: IdleTimer;
  readonly #closed: Promise<void>;
  readonly #link: SpdyLink;
  #linger: ClockTimer | undefined;
  #lastStream = 0;
  #closing = false;

  constructor(options: SpdySessionOptions) {
    this.#options = options;
    const { transport, clock, idleTimeoutMs } = options;
    this.#idle = new IdleTimer({ clock, timeoutMs: idleTimeoutMs, onIdle: () => transport.destroy() });
    this.#output = new SpdyOutput({ transport, clock });
    this.#link = this.#makeLink();
    transport.on('error', () => undefined);
    this.#closed = new Promise((resolve) => {
      if (transport.closed) resolve();
      else transport.once('close', () => resolve());
    });
    void this.#closed.then(() => this.#end());
  }

  /** Aborts when the client is gone, or was idle for too long. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  /** Serves the client until the connection is closed, by whomever. Never rejects. */
  async run(): Promise<void> {
    const { transport, logger } = this.#options;
    this.#output.startHeartbeat();
    try {
      for await (const chunk of transport.iterator({ destroyOnReturn: false })) {
        for (const frame of this.#reader.push(chunk as Buffer)) await this.#handle(frame);
        await this.#output.roomForReplies();
        await this.#readAhead.room();
      }
      this.#shutDown(GoAwayStatus.ok);
    } catch (error) {
      logger.info('SPDY connection broken', { err: messageOf(error) }, 4);
      if (error instanceof SpdyError) this.#shutDown(GoAwayStatus.protocolError);
      else transport.destroy();
    }
    await this.#closed;
  }

  /** Closes the connection behind everything that was sent, and resolves once it is closed. */
  async close(): Promise<void> {
    this.#shutDown(GoAwayStatus.ok);
    await this.#closed;
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
        if (frame.id % 2 === 1) this.#output.reply(encodePing(frame.id));
        return undefined;
      case 'window-update':
        this.#receiveWindow(frame.stream, frame.delta);
        return undefined;
      case 'settings':
        if (frame.initialWindow !== undefined) {
          this.#output.windows.setInitial(frame.initialWindow, this.#streams.values());
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
      this.#output.reply(encodeRstStream(id, ResetStatus.protocolError));
      return;
    }
    this.#lastStream = id;
    if (this.#streams.size >= MOST_STREAMS) {
      this.#output.reply(encodeRstStream(id, ResetStatus.refusedStream));
      return;
    }
    this.#idle.touch();
    const remoteEnded = (flags & FLAG_FIN) !== 0;
    const localEnded = (flags & FLAG_UNIDIRECTIONAL) !== 0;
    const stream = new SpdyStream({ id, headers, link: this.#link, remoteEnded, localEnded });
    stream.sendWindow = this.#output.windows.initial;
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
      this.#output.acknowledge(undefined, payload.length);
      return;
    }
    stream.receive(payload, fin);
    this.#forgetIfClosed(stream);
  }

  #receiveWindow(id: number, delta: number): void {
    const stream = id === 0 ? undefined : this.#streams.get(id);
    if (id !== 0 && stream === undefined) return;
    if (this.#output.windows.widen(stream, delta)) return;
    if (stream === undefined) throw new SpdyError('a window beyond all bounds');
    this.#forget(stream.id)?.reset(ResetStatus.flowControlError);
  }

  #makeLink(): SpdyLink {
    const output = this.#output;
    return {
      sendReply: ({ id }) => {
        const block = this.#deflater.deflate(encodeHeaderBlock(new Map()));
        output.reply(encodeSynReply(id, block));
      },
      sendData: (stream, data, callback) => {
        this.#idle.touch();
        output.sendData(stream, data, callback);
      },
      sendEnd: (stream, callback) => {
        output.sendEnd(stream, callback);
        this.#forgetIfClosed(stream);
      },
      sendReset: (stream, status) => {
        output.reply(encodeRstStream(stream.id, status));
        this.#forgetIfClosed(stream);
      },
      take: (cost) => this.#readAhead.take(cost),
      release: (stream, cost, bytes) => {
        this.#readAhead.release(cost);
        output.acknowledge(stream, bytes);
      },
    };
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
    this.#output.reply(encodeGoAway(this.#lastStream, status));
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
    this.#output.abandon();
  }

  #end(): void {
    this.#closing = true;
    this.#idle.stop();
    this.#output.close();
    this.#linger?.cancel();
    this.#inflater.close();
    this.#abandonStreams();
    this.#gone.abort(new Error('the client is gone'));
  }
}
