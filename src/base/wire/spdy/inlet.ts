import { Readable } from 'node:stream';

/** What an {@link Inlet} tells the one who fills it. */
export interface InletListener {
  /** More has come than is wanted for now. */
  onFull?(): void;
  /** It is wanted again. */
  onRoom?(): void;
  /** So many bytes were read, or will never be. */
  onTaken?(bytes: number): void;
}

/** The readable end of one of several streams that share a connection. */
export class Inlet extends Readable {
  readonly #listener: InletListener;
  #isFull = false;
  #isComplete = false;
  /** Bytes that came and were not yet taken. */
  #untaken = 0;

  constructor(listener: InletListener) {
    super();
    this.#listener = listener;
    // Whoever reads sees the error; that nobody does is no reason to end the process.
    this.on('error', () => undefined);
  }

  /** Whether nothing more should come for now. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** Whether everything has come, read or not. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** This has come. */
  deliver(data: Buffer): void {
    if (data.length === 0) return;
    if (this.destroyed || this.#isComplete) {
      this.#listener.onTaken?.(data.length);
      return;
    }
    this.#untaken += data.length;
    // A few bytes cut out of a large buffer would keep all of it for as long as they wait.
    const isCut = this.readableLength > 0 && data.buffer.byteLength > 4 * data.length;
    if (this.push(isCut ? Buffer.from(data) : data)) return;
    this.#isFull = true;
    this.#listener.onFull?.();
  }

  /** Nothing more comes. */
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

  /** @param waiting how much of what came is still to be read. */
  #release(waiting: number): void {
    const taken = this.#untaken - waiting;
    this.#untaken = waiting;
    if (taken > 0) this.#listener.onTaken?.(taken);
    if (!this.#isFull) return;
    this.#isFull = false;
    this.#listener.onRoom?.();
  }
}
