import { type Clock } from '../util/clock.js';

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

/** `2006-01-02T15:04:05.999999999Z` for nanoseconds since the epoch, always with nine digits. */
export function formatTimestamp(ns: bigint): string {
  const seconds = new Date(Number(ns / 1_000_000_000n) * 1000).toISOString().slice(0, 19);
  return `${seconds}.${String(ns % 1_000_000_000n).padStart(9, '0')}Z`;
}
