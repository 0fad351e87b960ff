/** What a {@link ReadAhead} needs. */
export interface ReadAheadOptions {
  /** From how many bytes on the connection is not read further. */
  readonly limitBytes: number;
  /** Called when the limit was reached, and when there is room again; in turns, beginning with `onFull`. */
  readonly onFull?: () => void;
  readonly onRoom?: () => void;
}

/**
 * Counts the bytes that one connection has delivered and nobody has taken yet, over all of its streams.
 *
 * Neither SPDY's clients nor WebSocket have windows, so the one way to slow a client down is not to read its
 * connection. The limit gives the other streams of the connection a chance to go on while one of them is stuck.
 */
export class ReadAhead {
  readonly #options: ReadAheadOptions;
  #bytes = 0;
  #full = false;
  #waiting: (() => void) | undefined;

  constructor(options: ReadAheadOptions) {
    this.#options = options;
  }

  /** Bytes came in. */
  take(bytes: number): void {
    this.#bytes += bytes;
    if (this.#full || this.#bytes < this.#options.limitBytes) return;
    this.#full = true;
    this.#options.onFull?.();
  }

  /** Somebody has taken them, or nobody ever will. */
  release(bytes: number): void {
    this.#bytes -= bytes;
    if (!this.#full || this.#bytes >= this.#options.limitBytes) return;
    this.#full = false;
    this.#options.onRoom?.();
    this.#waiting?.();
    this.#waiting = undefined;
  }

  /** Resolves when there is room. One waiter at a time. */
  room(): Promise<void> {
    if (!this.#full) return Promise.resolve();
    return new Promise((resolve) => (this.#waiting = resolve));
  }

  /** There is nobody left to take anything: lets a waiter go on. */
  abandon(): void {
    this.#waiting?.();
    this.#waiting = undefined;
  }
}
