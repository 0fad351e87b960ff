import { INITIAL_WINDOW_BYTES, LARGEST_WINDOW } from './spdy-frame.js';

/** The largest data frame that is sent, so that no stream keeps the others waiting for long. */
const FRAME_BYTES = 64 * 1024;

/** A stream on which something is sent. */
export interface WindowedStream {
  /** How much may be sent, to a peer that counts; may be negative. */
  sendWindow: number;
}

/**
 * How much may be sent, by stream and in all, to a peer that counts.
 *
 * The protocol has every peer count; spdystream does not, and never grants anything, so whoever waited for it would wait
 * for ever. A peer shows that it counts by granting something, or by naming its initial window. What was sent is counted
 * from the beginning, so from then on the windows are right.
 */
export class SendWindows<Stream extends WindowedStream> {
  #countsStreams = false;
  #countsConnection = false;
  #initial = INITIAL_WINDOW_BYTES;
  #connection = INITIAL_WINDOW_BYTES;
  /** A stream has one piece of data under way. */
  readonly #blocked = new Map<Stream, () => void>();

  /** @param peerCounts whether that is known already. */
  constructor(peerCounts = false) {
    this.#countsStreams = peerCounts;
    this.#countsConnection = peerCounts;
  }

  /** The window with which a new stream begins. */
  get initial(): number {
    return this.#initial;
  }

  /**
   * As much of `data` as may be sent now. Undefined when it is nothing: `retry` is called when that may have changed.
   */
  take(stream: Stream, data: Buffer, retry: () => void): Buffer | undefined {
    const window = Math.min(
      this.#countsStreams ? stream.sendWindow : FRAME_BYTES,
      this.#countsConnection ? this.#connection : FRAME_BYTES,
    );
    if (window <= 0) {
      this.#blocked.set(stream, retry);
      return undefined;
    }
    const part = data.subarray(0, Math.min(window, FRAME_BYTES));
    stream.sendWindow -= part.length;
    this.#connection -= part.length;
    return part;
  }

  /** The peer grants more, on a stream or for the connection; false when a window becomes impossibly large. */
  widen(stream: Stream | undefined, delta: number): boolean {
    if (stream === undefined) {
      // Only SPDY/3.1 has a window for the connection; a client of SPDY/3 never grants any.
      this.#countsConnection = true;
      this.#connection += delta;
    } else {
      this.#countsStreams = true;
      stream.sendWindow += delta;
    }
    this.#retry();
    return (stream?.sendWindow ?? this.#connection) <= LARGEST_WINDOW;
  }

  /**
   * The peer names the window with which streams begin, which changes those of open ones by the difference. Nothing
   * changes where it names none.
   */
  setInitial(bytes: number | undefined, streams: Iterable<Stream>): void {
    if (bytes === undefined) return;
    this.#countsStreams = true;
    for (const stream of streams) stream.sendWindow += bytes - this.#initial;
    this.#initial = bytes;
    this.#retry();
  }

  /** Lets go of what waits to be sent on a stream that is closed: a peer may never grant anything any more. */
  forget(stream: Stream): void {
    this.#blocked.delete(stream);
  }

  /** How many streams wait for the peer to grant something. */
  get blockedCount(): number {
    return this.#blocked.size;
  }

  /** Lets those who wait find out that the connection is closed. */
  close(): void {
    this.#retry();
  }

  #retry(): void {
    const retries = [...this.#blocked.values()];
    this.#blocked.clear();
    for (const retry of retries) retry();
  }
}
