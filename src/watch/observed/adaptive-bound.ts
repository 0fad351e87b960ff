/** What {@link AdaptiveBound} is made with. */
export interface AdaptiveBoundOptions {
  /** The bound at the start (default: 8). */
  readonly initial?: number;
  /** It never goes below (default: 2). */
  readonly least?: number;
  /** It never goes above (default: 64). */
  readonly most?: number;
}

/** A change that ended, as {@link AdaptiveBound.observe} takes it. */
export interface EndedChange {
  /** What kind of change: only those of one kind are compared with each other. */
  readonly operation: string;
  /** By the monotonic clock. */
  readonly startedMs: number;
  readonly endedMs: number;
  /** How many were under way when it started, itself included. */
  readonly underWay: number;
  /** The runtime was not up to it: no answer in time, out of something, gone. Another failure says nothing of load. */
  readonly overloaded: boolean;
}

// A runtime shares its cores among what it is asked at once, so that some growth is only that.
const SLOWDOWN = 6;
/** Nothing faster than this is slow. */
const NEVER_SLOW_MS = 500;
const DECREASE = 0.7;
/** How much of the bound has to be in use for a success to say that more is possible. */
const WELL_USED = 0.75;
// So slowly does it forget how fast the runtime once was: machines do get busier for good.
const DRIFT = 0.01;

/**
 * How many changes a runtime is given at once: more while they go fast, fewer as soon as they do not.
 *
 * Additive increase: one more for every full bound of successes. Multiplicative decrease: by 30 %, when a change
 * failed for load or took six times as long as the fastest of its kind; once for all changes that were under way
 * together. Holds numbers only.
 */
export class AdaptiveBound {
  readonly #least: number;
  readonly #most: number;
  readonly #fastestMs = new Map<string, number>();
  #limit: number;
  #decreasedAtMs = -Infinity;

  constructor(options: AdaptiveBoundOptions = {}) {
    this.#least = options.least ?? 2;
    this.#most = options.most ?? 64;
    this.#limit = options.initial ?? 8;
  }

  /** A whole number of at least 1. */
  get limit(): number {
    return Math.max(1, Math.floor(this.#limit));
  }

  observe({ operation, startedMs, endedMs, underWay, overloaded }: EndedChange): void {
    const durationMs = endedMs - startedMs;
    if (overloaded || this.#isSlow(operation, durationMs)) {
      // What was sent before the last decrease met the runtime as it was then.
      if (startedMs < this.#decreasedAtMs) return;
      this.#decreasedAtMs = endedMs;
      this.#limit = Math.max(this.#least, this.#limit * DECREASE);
    } else if (underWay >= WELL_USED * this.limit) {
      this.#limit = Math.min(this.#most, this.#limit + 1 / this.#limit);
    }
    if (!overloaded) this.#learn(operation, durationMs);
  }

  #isSlow(operation: string, durationMs: number): boolean {
    const fastestMs = this.#fastestMs.get(operation);
    return fastestMs !== undefined && durationMs > Math.max(NEVER_SLOW_MS, SLOWDOWN * fastestMs);
  }

  #learn(operation: string, durationMs: number): void {
    const fastestMs = this.#fastestMs.get(operation);
    const learnt =
      fastestMs === undefined || durationMs < fastestMs
        ? durationMs
        : fastestMs + DRIFT * (durationMs - fastestMs);
    this.#fastestMs.set(operation, learnt);
  }
}
