import { type Clock } from '#base/time/clock.js';

/** Wall-clock time in nanoseconds for records and messages; every reading is newer than the one before. */
export class NanoClock {
  readonly #clock: Clock;
  #last = 0n;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Nanoseconds since the epoch. Strictly increasing, also where the machine's clock was set back. */
  now(): bigint {
    const now = BigInt(Math.round(this.#clock.now() * 1000)) * 1000n;
    this.#last = now > this.#last ? now : this.#last + 1n;
    return this.#last;
  }
}
