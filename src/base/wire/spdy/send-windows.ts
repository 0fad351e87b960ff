import { INITIAL_WINDOW_BYTES, LARGEST_WINDOW } from './spdy-frame.js';

/** The largest data frame that is sent, so that no stream delays the others for long. */
const FRAME_BYTES = 64 * 1024;

/** A stream that sends data. */
export interface WindowedStream {
  /** How much may be sent, to a peer that counts; may be negative. */
  sendWindow: number;
}

/**
 * How much may be sent, by stream and in all, to a peer that counts.
 *
 * The protocol requires every peer to count. But spdystream does not, and never grants anything, so waiting
 * for it would last for ever. A peer shows that it counts by granting something, or by setting its initial
 * window. Sent bytes are counted from the start, so from then on the windows are right.
 */
export class SendWindows<Stream extends WindowedStream> {
  #countsStreams = false;
  #countsConnection = false;
  #initial = INITIAL_WINDOW_BYTES;
  #connection = INITIAL_WINDOW_BYTES;
  /** The retry functions of blocked streams, which have one piece of data pending each. */
  readonly #blocked = new Map<Stream, () => void>();

  /** @param peerCounts whether the peer is already known to count. */
  constructor(peerCounts = false) {
    this.#countsStreams = peerCounts;
    this.#countsConnection = peerCounts;
  }

  /** The initial window of a new stream. */
  get initial(): number {
    return this.#initial;
  }

  /**
   * Returns as much of `data` as may be sent now.
   *
   * Undefined if that is nothing: `retry` is called when it may have changed.
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

  /** Applies a grant, on a stream or for the connection; returns false if a window becomes too large. */
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
   * Applies the peer's initial window of streams, which changes those of open ones by the difference.
   *
   * Does nothing if the peer did not set one.
   */
  setInitial(bytes: number | undefined, streams: Iterable<Stream>): void {
    if (bytes === undefined) return;
    this.#countsStreams = true;
    for (const stream of streams) stream.sendWindow += bytes - this.#initial;
    this.#initial = bytes;
    this.#retry();
  }

  /** Releases data pending on a closed stream, as the peer may never grant anything any more. */
  forget(stream: Stream): void {
    this.#blocked.delete(stream);
  }

  /** How many streams wait for a grant. */
  get blockedCount(): number {
    return this.#blocked.size;
  }

  /** Makes blocked streams retry, so that they find the connection closed. */
  close(): void {
    this.#retry();
  }

  #retry(): void {
    const retries = [...this.#blocked.values()];
    this.#blocked.clear();
    for (const retry of retries) retry();
  }
}
