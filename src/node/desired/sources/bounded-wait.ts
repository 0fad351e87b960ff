import { abortable } from '#base/async/abortable.js';
import { type Clock, type ClockTimer } from '#base/time/clock.js';

/**
 * Waits for calls of the file system, which nothing can take back, no longer than a deadline.
 *
 * One call at a time: while one that was given up has not come back, there is no other. Else a network disk that hangs
 * would take one of Node's few threads after the other.
 */
export class BoundedWait {
  readonly #clock: Clock;
  readonly #deadlineMs: number;
  #underWay: Promise<unknown> | undefined;

  constructor(clock: Clock, deadlineMs: number) {
    this.#clock = clock;
    this.#deadlineMs = deadlineMs;
  }

  /** What `start` gives. Rejects as it does, when the deadline passes, or with the signal's reason. */
  async call<T>(start: () => Promise<T>, signal: AbortSignal): Promise<T> {
    let timer: ClockTimer | undefined;
    const late = new Promise<never>((_, reject) => {
      const why = `the file system has not answered for ${this.#deadlineMs / 1000} s`;
      timer = this.#clock.setTimer(this.#deadlineMs, () => reject(new Error(why)), { unref: true });
    });
    try {
      signal.throwIfAborted();
      while (this.#underWay !== undefined) {
        await abortable(Promise.race([this.#underWay, late]), signal);
      }
      const call = start();
      const settled = call
        .catch(() => undefined)
        .then(() => {
          if (this.#underWay === settled) this.#underWay = undefined;
        });
      this.#underWay = settled;
      return await abortable(Promise.race([call, late]), signal);
    } finally {
      timer?.cancel();
    }
  }
}
