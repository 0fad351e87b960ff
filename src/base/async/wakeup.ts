import { type Clock, type ClockTimer } from '../time/clock.js';

/**
 * Lets one loop sleep until something happens or time is up, without losing what happens while it is awake.
 */
export class Wakeup {
  #awake = false;
  #resume: (() => void) | undefined;

  /** Ends the present wait, or the next one if there is none. */
  wake(): void {
    this.#awake = true;
    this.#resume?.();
  }

  /**
   * Resolves at a `wake()`, past or future, or after `delayMs` (never, if undefined).
   *
   * Rejects with the signal's reason. One waiter at a time.
   */
  async wait(clock: Clock, delayMs: number | undefined, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (!this.#awake && delayMs !== 0) {
      let timer: ClockTimer | undefined;
      let onAbort: (() => void) | undefined;
      try {
        await new Promise<void>((resolve, reject) => {
          this.#resume = resolve;
          onAbort = () => reject(signal.reason as Error);
          signal.addEventListener('abort', onAbort, { once: true });
          if (delayMs !== undefined) timer = clock.setTimer(delayMs, resolve);
        });
      } finally {
        this.#resume = undefined;
        timer?.cancel();
        if (onAbort !== undefined) signal.removeEventListener('abort', onAbort);
      }
    }
    this.#awake = false;
  }
}
