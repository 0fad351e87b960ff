import { Readable } from 'node:stream';

/** What an {@link Inlet} tells the one who fills it. */
export interface InletListener {
  /** More has come than is wanted for now. */
  onFull(): void;
  /** It is wanted again. */
  onRoom(): void;
}

/** The readable end of one of several streams that share a connection. */
export class Inlet extends Readable {
  readonly #listener: InletListener;
  #isFull = false;
  #isComplete = false;

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
    if (this.destroyed || this.#isComplete || data.length === 0 || this.push(data)) return;
    this.#isFull = true;
    this.#listener.onFull();
  }

  /** Nothing more comes. */
  deliverEnd(): void {
    if (this.destroyed || this.#isComplete) return;
    this.#isComplete = true;
    this.push(null);
  }

  override _read(): void {
    this.#release();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#release();
    callback(error);
  }

  #release(): void {
    if (!this.#isFull) return;
    this.#isFull = false;
    this.#listener.onRoom();
  }
}
