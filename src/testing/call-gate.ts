import { abortable } from '#base/async/abortable.js';
import { type Clock } from '#base/time/clock.js';

/**
 * The door that calls of one kind pass in a fake: a test makes it slow, shut or broken.
 *
 * A call waits for the delay, then until nothing hangs, then fails if it is to fail.
 */
export class CallGate {
  readonly #clock: Clock;
  readonly #hangs = new Set<Promise<void>>();
  #delayMs = 0;
  #error: Error | undefined;
  #waiting = 0;

  constructor(options: { clock: Clock }) {
    this.#clock = options.clock;
  }

  /** Calls that have entered and not yet passed. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Every call from now on takes that long by the clock; 0 for none. */
  delay(ms: number): void {
    this.#delayMs = ms;
  }

  /** Every call from now on rejects with `error`, until called with undefined. */
  fail(error: Error | undefined): void {
    this.#error = error;
  }

  /** Every call from now on hangs; what is returned lets them go, those that wait as well. Idempotent. */
  hang(): () => void {
    let release: () => void = () => undefined;
    const hang = new Promise<void>((resolve) => {
      release = resolve;
    });
    this.#hangs.add(hang);
    return () => {
      this.#hangs.delete(hang);
      release();
    };
  }

  /** Resolves when the call may answer. Rejects with the error set, or with the signal's reason. */
  async pass(signal?: AbortSignal): Promise<void> {
    this.#waiting++;
    try {
      signal?.throwIfAborted();
      if (this.#delayMs > 0) await this.#clock.sleep(this.#delayMs, signal);
      for (const hang of this.#hangs) await abortable(hang, signal);
      if (this.#error !== undefined) throw this.#error;
    } finally {
      this.#waiting--;
    }
  }
}
