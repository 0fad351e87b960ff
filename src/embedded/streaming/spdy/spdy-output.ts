import { type Duplex } from 'node:stream';
import { type Clock, type ClockTimer } from '../../../util/clock.js';
import { ReadAhead } from '../read-ahead.js';
import { encodeDataHead, encodePing, encodeWindowUpdate } from '../../../spdy/encode-frame.js';
import { flushWrites, gatherWrites } from '../../../spdy/gather-writes.js';
import { SendWindows } from './send-windows.js';
import { INITIAL_WINDOW_BYTES } from '../../../spdy/spdy-frame.js';
import { type SpdyStream } from './spdy-stream.js';

/** What a {@link SpdyOutput} needs. */
export interface SpdyOutputOptions {
  readonly transport: Duplex;
  readonly clock: Clock;
}

/** So much of replies to frames may wait for a client that does not read before no more frames are read. */
const REPLY_BYTES = 64 * 1024;
/** A write every so often shows a client that died while its connection was not being read. */
const HEARTBEAT_MS = 5_000;
const LARGEST_PING = 2 ** 32 - 2;
/** A client is told what was read in steps of half a window. */
const GRANT_STEP = INITIAL_WINDOW_BYTES / 2;

type Callback = (error?: Error | null) => void;

/** What a SPDY connection sends: data at the client's pace, replies that are bounded, grants, pings. */
export class SpdyOutput {
  readonly windows = new SendWindows();
  readonly #transport: Duplex;
  readonly #clock: Clock;
  readonly #replies = new ReadAhead({ limitBytes: REPLY_BYTES });
  #heartbeat: ClockTimer | undefined;
  #lastPing = 0;
  #unacknowledged = 0;

  constructor({ transport, clock }: SpdyOutputOptions) {
    this.#transport = transport;
    this.#clock = clock;
  }

  /** Begins to send pings, which the client answers; nobody waits for that. */
  startHeartbeat(): void {
    this.#heartbeat = this.#clock.setTimer(
      HEARTBEAT_MS,
      () => {
        this.#lastPing = this.#lastPing >= LARGEST_PING ? 2 : this.#lastPing + 2;
        if (this.#transport.writable) this.reply(encodePing(this.#lastPing));
        this.startHeartbeat();
      },
      { unref: true },
    );
  }

  /** Sends a frame that the client's own frames have caused: if it does not read, ours wait, and then its own. */
  reply(frame: Buffer): void {
    this.#replies.take(frame.length);
    gatherWrites(this.#transport);
    this.#write([frame], () => this.#replies.release(frame.length));
  }

  /** Resolves when the client has taken enough of the replies. */
  roomForReplies(): Promise<void> {
    return this.#replies.room();
  }

  /** Sends data, as the client's windows allow it; calls back once the connection has taken all of it. */
  sendData(stream: SpdyStream, data: Buffer, callback: Callback): void {
    if (!stream.writable) {
      callback(new Error('the stream is closed'));
      return;
    }
    const part = this.windows.take(stream, data, () => this.sendData(stream, data, callback));
    if (part === undefined) return;
    this.#write([encodeDataHead(stream.id, part.length, false), part], (error) => {
      if (error || part.length === data.length) callback(error);
      else this.sendData(stream, data.subarray(part.length), callback);
    });
    flushWrites(this.#transport);
  }

  /** Says that nothing more comes on the stream. */
  sendEnd(stream: SpdyStream, callback: Callback): void {
    this.#write([encodeDataHead(stream.id, 0, true)], callback);
  }

  /**
   * Tells the client that so much was read, of the connection and of the stream, so that it may send as much again.
   *
   * @param stream undefined for what came on a stream that is closed.
   */
  acknowledge(stream: SpdyStream | undefined, bytes: number): void {
    this.#unacknowledged += bytes;
    if (this.#unacknowledged >= GRANT_STEP) {
      this.reply(encodeWindowUpdate(0, this.#unacknowledged));
      this.#unacknowledged = 0;
    }
    if (stream === undefined) return;
    stream.unacknowledged += bytes;
    if (stream.unacknowledged < GRANT_STEP || stream.remoteEnded || stream.closed) return;
    this.reply(encodeWindowUpdate(stream.id, stream.unacknowledged));
    stream.unacknowledged = 0;
  }

  /** Lets go of everybody who waits for the client. */
  abandon(): void {
    this.#replies.abandon();
    this.windows.close();
  }

  /** Ends the pings. */
  close(): void {
    this.#heartbeat?.cancel();
    this.abandon();
  }

  #write(parts: readonly Buffer[], callback: Callback): void {
    const transport = this.#transport;
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
}
