import { type ClockTimer, SystemClock } from '#base/time/clock.js';

/** The machine's clock, on which timers of `fromMs` and more run `times` as fast: limits that are too long for a test. */
export class HurriedClock extends SystemClock {
  readonly #fromMs: number;
  readonly #times: number;

  constructor({ fromMs, times }: { fromMs: number; times: number }) {
    super();
    this.#fromMs = fromMs;
    this.#times = times;
  }

  override setTimer(delayMs: number, callback: () => void, options?: { unref?: boolean }): ClockTimer {
    return super.setTimer(delayMs >= this.#fromMs ? delayMs / this.#times : delayMs, callback, options);
  }
}
