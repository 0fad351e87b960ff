import { type Clock } from '#base/time/clock.js';

/** More than any synchronized clock drifts. */
const JUMP_MS = 60_000;
/** How long a jump must have lasted. */
const DOUBT_MS = 3_600_000;
/** A starting agent believes the time at once if it is at most this long after the newest record. */
const PLAUSIBLE_MS = 24 * 3_600_000;

/**
 * The wall-clock time for irreversible decisions.
 *
 * A jump forward is believed only when it has lasted for an hour, as a wrong clock is corrected sooner. The
 * same holds at the start for a time more than a day after the newest record. A jump back is believed at
 * once, as it expires nothing.
 */
export class BelievedTime {
  readonly #clock: Clock;
  /** The difference between the wall clock and the monotonic clock. */
  #offsetMs: number | undefined;
  #doubted: { readonly offsetMs: number; readonly sinceMs: number } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * The present time, as far as it is believed; undefined if unknown. `newestMs` is the time of the newest
   * record.
   */
  now(newestMs: number): number | undefined {
    const nowMs = this.#clock.now();
    const monotonicMs = this.#clock.monotonicMs();
    const offsetMs = nowMs - monotonicMs;
    const isPlausible =
      this.#offsetMs === undefined ? nowMs <= newestMs + PLAUSIBLE_MS : offsetMs <= this.#offsetMs + JUMP_MS;
    if (!isPlausible) {
      const isSame = this.#doubted !== undefined && Math.abs(offsetMs - this.#doubted.offsetMs) <= JUMP_MS;
      if (!isSame) this.#doubted = { offsetMs, sinceMs: monotonicMs };
      if (monotonicMs - this.#doubted!.sinceMs < DOUBT_MS) {
        return this.#offsetMs === undefined ? undefined : monotonicMs + this.#offsetMs;
      }
    }
    this.#offsetMs = offsetMs;
    this.#doubted = undefined;
    return nowMs;
  }
}
