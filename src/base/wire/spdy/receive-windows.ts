import { encodeWindowUpdate } from './encode-frame.js';
import { INITIAL_WINDOW_BYTES, SHARED_WINDOW_BYTES } from './spdy-frame.js';

/** Reads are acknowledged to the peer in steps of half a window. */
const GRANT_STEP = INITIAL_WINDOW_BYTES / 2;

/** A stream that receives data. */
export interface ReceivingStream {
  readonly id: number;
  /** Bytes that were read and not yet granted again. */
  unacknowledged: number;
  /** Whether another grant is of use to the peer. */
  readonly mayReceive: boolean;
}

/** Grants the peer what was read, for the connection and by stream, so that it may send as much again. */
export class ReceiveWindows {
  readonly #send: (frame: Buffer) => void;
  #unacknowledged = 0;

  /** @param send sends a frame. */
  constructor(send: (frame: Buffer) => void) {
    this.#send = send;
  }

  /** Grants the connection {@link SHARED_WINDOW_BYTES} in all. Call it once, before anything is read. */
  open(): void {
    this.#send(encodeWindowUpdate(0, SHARED_WINDOW_BYTES - INITIAL_WINDOW_BYTES));
  }

  /**
   * Notes that this many bytes were read.
   *
   * @param stream undefined for data on a closed stream, which counts for the connection all the same.
   */
  acknowledge(stream: ReceivingStream | undefined, bytes: number): void {
    this.#unacknowledged += bytes;
    if (this.#unacknowledged >= GRANT_STEP) {
      this.#send(encodeWindowUpdate(0, this.#unacknowledged));
      this.#unacknowledged = 0;
    }
    if (stream === undefined) return;
    stream.unacknowledged += bytes;
    if (stream.unacknowledged < GRANT_STEP || !stream.mayReceive) return;
    this.#send(encodeWindowUpdate(stream.id, stream.unacknowledged));
    stream.unacknowledged = 0;
  }
}
