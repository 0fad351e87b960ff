import { Readable } from 'node:stream';

/** How an {@link Inlet} notifies its producer. */
export interface InletListener {
  /** The buffer is full: pause. */
  onFull?(): void;
  /** There is room again: resume. */
  onRoom?(): void;
  /** This many bytes were read, or will never be. */
  onTaken?(bytes: number): void;
}

/** The readable end of one of several streams on a connection. */
export class Inlet extends Readable {
  readonly #listener: InletListener;
  #isFull = false;
  #isComplete = false;
  /** Bytes received but not yet read. */
  #untaken = 0;

  constructor(listener: InletListener) {
    super();
    this.#listener = listener;
    // A reader sees the error; without a reader it must not end the process.
    this.on('error', () => undefined);
  }

  /** Whether the producer should pause. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** Whether everything has been received, read or not. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** Adds received data. */
  deliver(data: Buffer): void {
    if (data.length === 0) return;
    if (this.destroyed || this.#isComplete) {
      this.#listener.onTaken?.(data.length);
      return;
    }
    this.#untaken += data.length;
    // A small slice of a large buffer would retain all of it while it waits.
    const isCut = this.readableLength > 0 && data.buffer.byteLength > 4 * data.length;
    if (this.push(isCut ? Buffer.from(data) : data)) return;
    this.#isFull = true;
    this.#listener.onFull?.();
  }

  /** Marks the end of the data. */
  deliverEnd(): void {
    if (this.destroyed || this.#isComplete) return;
    this.#isComplete = true;
    this.push(null);
  }

  override _read(): void {
    this.#release(this.readableLength);
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#release(0);
    callback(error);
  }

  /** @param waiting how many received bytes are still unread. */
  #release(waiting: number): void {
    const taken = this.#untaken - waiting;
    this.#untaken = waiting;
    if (taken > 0) this.#listener.onTaken?.(taken);
    if (!this.#isFull) return;
    this.#isFull = false;
    this.#listener.onRoom?.();
  }
}
