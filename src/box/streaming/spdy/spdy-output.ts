import { type Duplex } from 'node:stream';
import { type Clock, type ClockTimer } from '#base/time/clock.js';
import { ReadAhead } from '../sessions/read-ahead.js';
import { encodeDataHead, encodePing } from '#base/wire/spdy/encode-frame.js';
import { gatherWrites } from '#base/wire/spdy/gather-writes.js';
import { ReceiveWindows } from '#base/wire/spdy/receive-windows.js';
import { SendWindows } from '#base/wire/spdy/send-windows.js';
import { type SpdyStream } from './spdy-stream.js';

/** What a {@link SpdyOutput} needs. */
export interface SpdyOutputOptions {
  readonly transport: Duplex;
  readonly clock: Clock;
  /** Whether the client is known to keep to windows (default: no). */
  readonly clientCounts?: boolean;
}

/** So much of replies to frames may wait for a client that does not read before no more frames are read. */
const REPLY_BYTES = 64 * 1024;
/** A write every so often shows a client that died while its connection was not being read. */
const HEARTBEAT_MS = 5_000;
const LARGEST_PING = 2 ** 32 - 2;

type Callback = (error?: Error | null) => void;

/** What a SPDY connection sends: data at the client's pace, replies that are bounded, grants, pings. */
export class SpdyOutput {
  readonly windows: SendWindows<SpdyStream>;
  readonly received = new ReceiveWindows((frame) => this.reply(frame));
  readonly #transport: Duplex;
  readonly #clock: Clock;
  readonly #replies = new ReadAhead({ limitBytes: REPLY_BYTES });
  #heartbeat: ClockTimer | undefined;
  #lastPing = 0;

  constructor({ transport, clock, clientCounts = false }: SpdyOutputOptions) {
    this.windows = new SendWindows(clientCounts);
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
  }

  /** Says that nothing more comes on the stream. */
  sendEnd(stream: SpdyStream, callback: Callback): void {
    this.#write([encodeDataHead(stream.id, 0, true)], callback);
  }

  /** Releases every writer that waits for the client. */
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
    gatherWrites(transport);
    const last = parts.length - 1;
    for (const [at, part] of parts.entries()) {
      if (at === last) transport.write(part, callback);
      else transport.write(part);
    }
  }
}
