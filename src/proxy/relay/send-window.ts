import { FIRST_WINDOW_BYTES, readInitialWindow } from './frame-format.js';
import { ProtocolError } from './protocol-error.js';

/** No peer changes its settings so often without waiting for any answer. */
const MAX_UNCONFIRMED = 1_000;

/**
 * The room that the sink of a direction gives, and whose it is.
 *
 * As long as everything passes, both ends settle it among themselves. Bytes that are taken in count against the
 * source's room, so the source is given that room back at once; bytes that are sent by us use room of the sink that the
 * source takes for its own, so the room that the sink gives back for them is kept from the source (`owed`). In between
 * the source may send more than the sink has room for: such a frame has to wait. Room comes when the sink has read
 * what it has, with every library by the time that half of the window is read; so no frame may be larger than that, and
 * none is unless a sink asks for frames larger than what everybody has to take.
 */
export class SendWindow {
  /** What the sink really takes, of all streams together, in bytes. */
  #window = FIRST_WINDOW_BYTES;
  #owed = 0;
  #initialWindow = FIRST_WINDOW_BYTES;
  /** Initial windows of streams in settings of the sink that the source has not confirmed. */
  readonly #announced: (number | undefined)[] = [];

  get bytes(): number {
    return this.#window;
  }

  /** Whether the relay's own bytes, which the source does not know of, are in flight. */
  get isShared(): boolean {
    return this.#owed > 0;
  }

  /** What the sink takes of a new stream, in bytes. */
  get initialWindow(): number {
    return this.#initialWindow;
  }

  /** Whether a frame of the source may go on. Without our doing a source that sends too much answers for it itself. */
  fits(length: number): boolean {
    return this.#owed === 0 || this.#window >= length;
  }

  notePassed(length: number): void {
    this.#window -= length;
  }

  noteSent(length: number): void {
    this.#window -= length;
    this.#owed += length;
  }

  /** The sink gives room for this many bytes; returns how many of them are the source's. */
  gain(bytes: number): number {
    this.#window += bytes;
    const kept = Math.min(bytes, this.#owed);
    this.#owed -= kept;
    return bytes - kept;
  }

  /** The sink has sent settings, which do not hold yet. Throws ProtocolError when there are far too many of them. */
  announce(settings: Buffer): void {
    if (this.#announced.length >= MAX_UNCONFIRMED) throw new ProtocolError('settings without end');
    this.#announced.push(readInitialWindow(settings));
  }

  /** The source has confirmed the oldest of them; returns by how much the window of each stream grows, or shrinks. */
  confirm(): number {
    const initialWindow = this.#announced.shift() ?? this.#initialWindow;
    const growth = initialWindow - this.#initialWindow;
    this.#initialWindow = initialWindow;
    return growth;
  }
}
