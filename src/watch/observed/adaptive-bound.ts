/** Options of {@link AdaptiveBound}. */
export interface AdaptiveBoundOptions {
  /** The bound at the start (default: 8). */
  readonly initial?: number;
  /** The lower limit of the bound (default: 2). */
  readonly least?: number;
  /** The upper limit of the bound (default: 64). */
  readonly most?: number;
}

/** A finished change, as input of {@link AdaptiveBound.observe}. */
export interface EndedChange {
  /** The kind of change: only changes of one kind are compared with each other. */
  readonly operation: string;
  /** By the monotonic clock. */
  readonly startedMs: number;
  readonly endedMs: number;
  /** How many changes were running when it started, itself included. */
  readonly underWay: number;
  /**
   * Whether the runtime was overloaded: no answer in time, a resource exhausted, or gone. Other failures say
   * nothing about load.
   */
  readonly overloaded: boolean;
}

// A runtime shares its cores among concurrent calls, so some growth in duration is normal.
const SLOWDOWN = 6;
/** Anything faster than this is never slow. */
const NEVER_SLOW_MS = 500;
const DECREASE = 0.7;
/** How much of the bound must be in use before a success may raise it. */
const WELL_USED = 0.75;
// How slowly it forgets the runtime's fastest times: a machine may get busier for good.
const DRIFT = 0.01;

/**
 * How many changes a runtime gets at once: more while they are fast, fewer once they are slow.
 *
 * Additive increase: one more for every full bound of successes. Multiplicative decrease: by 30 % when a
 * change failed for load or took six times as long as the fastest of its kind, once for all changes that were
 * running together. The class has no timers and makes no calls.
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
      // A change sent before the last decrease met the runtime under the old load.
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
