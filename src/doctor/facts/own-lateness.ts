import { type Clock, type ClockTimer } from '#base/time/clock.js';

/** Of a stall that begins between two ticks the rest of the first is not seen: half of that much, on average. */
const TICK_MS = 5;
/** A timer fires so much later by itself. */
const USUAL_MS = 2;

/**
 * By how much this process has been late with everything, since it was started: while it decodes a long list, or gets
 * no CPU, the answers of others lie there unread. Whoever measures others takes that off.
 */
export class OwnLateness {
  readonly #clock: Clock;
  #timer: ClockTimer | undefined;
  #expectedMs = 0;
  #totalMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Milliseconds in all, what is going on now included. */
  get totalMs(): number {
    return this.#timer === undefined ? this.#totalMs : this.#totalMs + this.#lateNow();
  }

  /** Until {@link stop}. */
  start(): void {
    this.#expectedMs = this.#clock.monotonicMs() + TICK_MS;
    this.#timer = this.#clock.setTimer(
      TICK_MS,
      () => {
        this.#totalMs += this.#lateNow();
        this.start();
      },
      { unref: true },
    );
  }

  stop(): void {
    this.#totalMs = this.totalMs;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #lateNow(): number {
    const lateMs = this.#clock.monotonicMs() - this.#expectedMs;
    return lateMs <= USUAL_MS ? 0 : lateMs;
  }
}
