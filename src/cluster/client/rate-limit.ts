import { type Clock } from '../../util/clock.js';

/** What a {@link RateLimit} needs. */
export interface RateLimitOptions {
  /** So many each second, in the long run; Infinity for no limit. */
  readonly perSecond: number;
  /** So many at once, after a pause. */
  readonly burst: number;
  readonly clock: Pick<Clock, 'monotonicMs' | 'sleep'>;
}

/**
 * A bucket of turns: `burst` of them at first, refilled at `perSecond`. Who comes when it is empty waits, in the order of
 * coming.
 */
export class RateLimit {
  readonly #options: RateLimitOptions;
  /** May be negative: so many turns are promised already. */
  #turns: number;
  #filledAtMs: number;

  constructor(options: RateLimitOptions) {
    this.#options = options;
    this.#turns = options.burst;
    this.#filledAtMs = options.clock.monotonicMs();
  }

  /** Waits for a turn: for how long, in milliseconds. Rejects with the signal's reason, and gives the turn back. */
  async take(signal: AbortSignal): Promise<number> {
    signal.throwIfAborted();
    const { perSecond, burst, clock } = this.#options;
    if (perSecond === Infinity) return 0;
    const nowMs = clock.monotonicMs();
    this.#turns = Math.min(burst, this.#turns + ((nowMs - this.#filledAtMs) / 1_000) * perSecond);
    this.#filledAtMs = nowMs;
    this.#turns -= 1;
    if (this.#turns >= 0) return 0;
    const waitMs = (-this.#turns / perSecond) * 1_000;
    try {
      await clock.sleep(waitMs, signal);
    } catch (error) {
      this.#turns += 1;
      throw error;
    }
    return waitMs;
  }
}
