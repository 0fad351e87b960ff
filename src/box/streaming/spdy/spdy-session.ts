import { setMaxListeners } from 'node:events';
import { type Duplex } from 'node:stream';
import { type Clock, type ClockTimer } from '#base/time/clock.js';
import { messageOf } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { IdleTimer } from '../idle-timer.js';
import { ReadAhead } from '../sessions/read-ahead.js';
import { encodeGoAway, encodePing, encodeRstStream } from '#base/wire/spdy/encode-frame.js';
import { FrameReader } from '#base/wire/spdy/frame-reader.js';
import { decodeHeaderBlock } from '#base/wire/spdy/header-block.js';
import { HeaderInflater } from '#base/wire/spdy/header-inflater.js';
import {
  FLAG_FIN,
  FLAG_UNIDIRECTIONAL,
  GoAwayStatus,
  ResetStatus,
  SHARED_WINDOW_BYTES,
  SpdyError,
  type SpdyFrame,
} from '#base/wire/spdy/spdy-frame.js';
import { linkStreams } from './spdy-link.js';
import { SpdyOutput } from './spdy-output.js';
import { SpdyStream, type SpdyLink } from './spdy-stream.js';
import { SpdyStreamTable } from './spdy-stream-table.js';

/** What a {@link SpdySession} needs. */
export interface SpdySessionOptions {
  /** The upgraded connection. */
  readonly transport: Duplex;
  /** Called with each stream that the client opens: to be accepted or refused at once. */
  readonly onStream: (stream: SpdyStream) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly idleTimeoutMs: number;
  /** Ends the transport behind what was written (default: `transport.end()`). */
  readonly endTransport?: () => void;
  /** Whether the client keeps to windows, so that one slow stream holds up no other (default: no). */
  readonly clientCounts?: boolean;
}

/** So much waits for slow readers, over all streams, before the connection is not read any more. */
const READ_AHEAD_BYTES = SHARED_WINDOW_BYTES;
/** How long a client may take to close the connection after us, before its last bytes are lost to it. */
const LINGER_MS = 5_000;

/**
 * The server's side of a SPDY/3.1 connection, as Kubernetes uses it: clients open streams, we answer on them.
 *
 * Windows: clients built on spdystream, such as kubectl, neither count nor grant any, so both sides are slowed
 * down by the connection itself. We grant what was read, as the protocol wants it, and keep to a client's windows
 * from the first sign that it counts; see SendWindows. podloop's own client says that it counts, and gets a window
 * for the connection in which every stream of its has room.
 */
export class SpdySession {
  readonly #options: SpdySessionOptions;
  readonly #streams = new SpdyStreamTable();
  readonly #reader = new FrameReader();
  readonly #inflater = new HeaderInflater();
  readonly #readAhead = new ReadAhead({ limitBytes: READ_AHEAD_BYTES });
  readonly #output: SpdyOutput;
  readonly #gone = new AbortController();
  readonly #idle: IdleTimer;
  readonly #closed: Promise<void>;
  readonly #link: SpdyLink;
  #linger: ClockTimer | undefined;
  #closing = false;

  constructor(options: SpdySessionOptions) {
    this.#options = options;
    const { transport, clock, idleTimeoutMs } = options;
    this.#idle = new IdleTimer({ clock, timeoutMs: idleTimeoutMs, onIdle: () => transport.destroy() });
    this.#output = new SpdyOutput(options);
    this.#link = linkStreams({
      ...{ output: this.#output, readAhead: this.#readAhead, idle: this.#idle },
      onMaybeClosed: (stream) => this.#forgetIfClosed(stream),
    });
    // Each connection that is made for a stream listens.
    setMaxListeners(0, this.#gone.signal);
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
    const { transport, logger, clientCounts = false } = this.#options;
    this.#output.startHeartbeat();
    if (clientCounts) this.#output.received.open();
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
        this.#output.windows.setInitial(frame.initialWindow, this.#streams.values());
        return undefined;
      case 'go-away':
        this.#shutDown(GoAwayStatus.ok);
        return undefined;
      default:
        return undefined;
    }
  }

  async #openStream(frame: SpdyFrame & { type: 'syn-stream' }): Promise<void> {
    // Read even when nobody wants it: the next block builds on it.
    const headers = decodeHeaderBlock(await this.#inflater.inflate(frame.block));
    if (this.#closing) return;
    const { stream: id, flags } = frame;
    const fault = this.#streams.claim(id);
    if (fault !== undefined) {
      this.#output.reply(encodeRstStream(id, fault));
      return;
    }
    this.#idle.touch();
    const remoteEnded = (flags & FLAG_FIN) !== 0;
    const localEnded = (flags & FLAG_UNIDIRECTIONAL) !== 0;
    const stream = new SpdyStream({ id, headers, link: this.#link, remoteEnded, localEnded });
    stream.sendWindow = this.#output.windows.initial;
    this.#streams.add(stream);
    this.#options.onStream(stream);
  }

  async #receiveHeaders(frame: SpdyFrame & { type: 'headers' | 'syn-reply' }): Promise<void> {
    decodeHeaderBlock(await this.#inflater.inflate(frame.block));
    if ((frame.flags & FLAG_FIN) === 0) return;
    this.#receiveData({ type: 'data', stream: frame.stream, payload: Buffer.alloc(0), fin: true });
  }

  #receiveData({ stream: id, payload, fin }: SpdyFrame & { type: 'data' }): void {
    this.#idle.touch();
    const stream = this.#streams.find(id);
    if (stream === undefined || stream.remoteEnded) {
      // On its way when we closed the stream: it counts for the connection all the same.
      this.#output.received.acknowledge(undefined, payload.length);
      return;
    }
    stream.receive(payload, fin);
    this.#forgetIfClosed(stream);
  }

  #receiveWindow(id: number, delta: number): void {
    const stream = id === 0 ? undefined : this.#streams.find(id);
    if (id !== 0 && stream === undefined) return;
    if (this.#output.windows.widen(stream, delta)) return;
    if (stream === undefined) throw new SpdyError('a window beyond all bounds');
    this.#forget(stream.id)?.reset(ResetStatus.flowControlError);
  }

  #forgetIfClosed(stream: SpdyStream): void {
    if (stream.closed) this.#forget(stream.id);
  }

  #forget(id: number): SpdyStream | undefined {
    const stream = this.#streams.remove(id);
    if (stream !== undefined) this.#output.windows.forget(stream);
    return stream;
  }

  /** Says goodbye, ends the transport and gives the client a while to read what was sent. */
  #shutDown(status: number): void {
    if (this.#closing) return;
    this.#closing = true;
    const { transport, clock, endTransport } = this.#options;
    this.#output.reply(encodeGoAway(this.#streams.last, status));
    this.#abandonStreams();
    this.#linger = clock.setTimer(LINGER_MS, () => transport.destroy(), { unref: true });
    if (endTransport === undefined) transport.end();
    else endTransport();
    this.#gone.abort(new Error('the client is gone'));
    // A transport whose end was read already closes by itself; nobody reads one that broke the protocol.
    if (status !== GoAwayStatus.ok) transport.resume();
  }

  #abandonStreams(): void {
    this.#streams.abandonAll();
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
