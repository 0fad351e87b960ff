/** How {@link Backoff} grows. */
export interface BackoffOptions {
  /** The first delay, in milliseconds. */
  readonly initialMs: number;
  /** No delay is longer than this, in milliseconds. */
  readonly maxMs: number;
  /** Each delay is this many times the one before (default: 2). */
  readonly factor?: number;
  /** Share of the delay that is drawn by chance, 0 to 1: 0.5 gives 50 to 100 % of it. 0 unless told. */
  readonly jitter?: number;
  /** The first call of {@link Backoff.nextMs} gives 0: "at once, then …". False unless told. */
  readonly firstAtOnce?: boolean;
  /** A number in [0, 1); Math.random unless told. */
  readonly random?: () => number;
}

/** Exponential delays between tries. Holds only the number of failures; waiting is the caller's. */
export class Backoff {
  readonly #options: BackoffOptions;
  #failures = 0;

  constructor(options: BackoffOptions) {
    this.#options = options;
  }

  /** How many delays were handed out since the last reset. */
  get failures(): number {
    return this.#failures;
  }

  /** The delay before the next try, in milliseconds. */
  nextMs(): number {
    const {
      initialMs,
      maxMs,
      factor = 2,
      jitter = 0,
      firstAtOnce = false,
      random = Math.random,
    } = this.#options;
    const step = this.#failures - (firstAtOnce ? 1 : 0);
    this.#failures++;
    if (step < 0) return 0;
    const delay = Math.min(maxMs, initialMs * factor ** step);
    return delay * (1 - jitter) + delay * jitter * random();
  }

  /** Starts again from the first delay. */
  reset(): void {
    this.#failures = 0;
  }
}
