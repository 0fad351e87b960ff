import { SystemClock } from '#base/time/clock.js';

/** The machine's clock, whose wall clock can be moved. */
export class MovableClock extends SystemClock {
  offsetMs: number;

  constructor({ offsetMs = 0 }: { offsetMs?: number } = {}) {
    super();
    this.offsetMs = offsetMs;
  }

  override now(): number {
    return super.now() + this.offsetMs;
  }
}
