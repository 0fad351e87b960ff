import { type FSWatcher, watch } from 'node:fs';
import { type Clock } from '#base/time/clock.js';
import { Wakeup } from '#base/async/wakeup.js';

/** So long at most passes until a follower looks, whatever he was told: the end of a container shows in no file. */
const LOOK_MS = 1_000;
/** A program that writes a lot is read in larger pieces. */
const BETWEEN_LOOKS_MS = 20;

/** Says when something may have changed in a folder of logs. */
export class LogChanges implements Disposable {
  readonly #clock: Clock;
  readonly #wakeup = new Wakeup();
  #watcher: FSWatcher | undefined;

  constructor(folder: string, clock: Clock) {
    this.#clock = clock;
    try {
      this.#watcher = watch(folder, () => this.#wakeup.wake());
      // Without it the looks from time to time are what is left.
      this.#watcher.on('error', () => this[Symbol.dispose]());
    } catch {
      // There are too many watches on this machine.
    }
  }

  /** Resolves when it is time to look again, or the signal aborts. */
  async next(signal: AbortSignal): Promise<void> {
    try {
      await this.#wakeup.wait(this.#clock, LOOK_MS, signal);
      await this.#clock.sleep(BETWEEN_LOOKS_MS, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  [Symbol.dispose](): void {
    this.#watcher?.close();
    this.#watcher = undefined;
  }
}
