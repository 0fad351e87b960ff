import { type Clock } from '#base/time/clock.js';

/** Faster than any clock that is kept in step drifts. */
const JUMP_MS = 60_000;
/** So long a jump must have stood. */
const DOUBT_MS = 3_600_000;
/** So long after the newest record an agent that starts takes the time for right at once. */
const PLAUSIBLE_MS = 24 * 3_600_000;

/**
 * The time on the wall, for what cannot be taken back.
 *
 * A jump forward is believed when it has stood for an hour, as a clock that was set wrong is set right again. So is the
 * time at the start when it is more than a day after the newest record. A jump back is believed at once: it ends nothing.
 */
export class BelievedTime {
  readonly #clock: Clock;
  /** Between the clock on the wall and the one that never jumps. */
  #offsetMs: number | undefined;
  #doubted: { readonly offsetMs: number; readonly sinceMs: number } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Now, as far as it is believed; undefined while it is not known. `newestMs`: of the newest record that there is. */
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
