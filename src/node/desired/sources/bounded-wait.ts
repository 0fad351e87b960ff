import { abortable } from '#base/async/abortable.js';
import { type Clock, type ClockTimer } from '#base/time/clock.js';

/**
 * Waits for calls of the file system, which cannot be cancelled, no longer than a deadline.
 *
 * One call at a time: while a late one has not returned, there is no other. Otherwise a network disk that
 * hangs would take all of Node's few threads.
 */
export class BoundedWait {
  readonly #clock: Clock;
  readonly #deadlineMs: number;
  #underWay: Promise<unknown> | undefined;

  constructor(clock: Clock, deadlineMs: number) {
    this.#clock = clock;
    this.#deadlineMs = deadlineMs;
  }

  /** The result of `start`. Rejects as it does, at the deadline, or with the signal's reason. */
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
