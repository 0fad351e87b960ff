import { type Clock, type ClockTimer } from '#base/time/clock.js';

/** What an {@link IdleTimer} needs. */
export interface IdleTimerOptions {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** Called once, when nothing has happened for that long. */
  readonly onIdle: () => void;
}

/**
 * Notices that nothing happens any more.
 *
 * {@link touch} only reads the clock: the timer is not restarted each time, but checks when it fires
 * whether it came too early.
 */
export class IdleTimer {
  readonly #options: IdleTimerOptions;
  #lastMs: number;
  #timer: ClockTimer | undefined;

  constructor(options: IdleTimerOptions) {
    this.#options = options;
    this.#lastMs = options.clock.monotonicMs();
    this.#plan(options.timeoutMs);
  }

  /** Something happened. */
  touch(): void {
    this.#lastMs = this.#options.clock.monotonicMs();
  }

  /** Ends it; nothing is called any more. */
  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #plan(delayMs: number): void {
    const { clock, timeoutMs, onIdle } = this.#options;
    const look = (): void => {
      const leftMs = this.#lastMs + timeoutMs - clock.monotonicMs();
      if (leftMs <= 0) onIdle();
      else this.#plan(leftMs);
    };
    this.#timer = clock.setTimer(delayMs, look, { unref: true });
  }
}
