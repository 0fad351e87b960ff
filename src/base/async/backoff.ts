/** Options of {@link Backoff}. */
export interface BackoffOptions {
  /** The first delay, in milliseconds. */
  readonly initialMs: number;
  /** No delay is longer than this, in milliseconds. */
  readonly maxMs: number;
  /** Each delay is this many times the one before (default: 2). */
  readonly factor?: number;
  /** The share of the delay that is random, 0 to 1: 0.5 gives 50 to 100 % of it (default: 0). */
  readonly jitter?: number;
  /** Makes the first call of {@link Backoff.nextMs} return 0: "at once, then …" (default: false). */
  readonly firstAtOnce?: boolean;
  /** A number in [0, 1) (default: Math.random). */
  readonly random?: () => number;
}

/** Exponential delays between attempts. It only counts failures; the caller waits. */
export class Backoff {
  readonly #options: BackoffOptions;
  #failures = 0;

  constructor(options: BackoffOptions) {
    this.#options = options;
  }

  /** How many delays were returned since the last reset. */
  get failures(): number {
    return this.#failures;
  }

  /** The delay before the next attempt, in milliseconds. */
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

  /** Starts over with the first delay. */
  reset(): void {
    this.#failures = 0;
  }
}
