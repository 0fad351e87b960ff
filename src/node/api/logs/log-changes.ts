import { type FSWatcher, watch } from 'node:fs';
import { type Clock } from '#base/time/clock.js';
import { Wakeup } from '#base/async/wakeup.js';

/**
 * Maximum time between two checks of a follower, whatever was reported: the end of a container shows in no
 * file.
 */
const LOOK_MS = 1_000;
/** Larger pieces are better for a program that writes a lot. */
const BETWEEN_LOOKS_MS = 20;

/** Notices when something may have changed in a folder of logs. */
export class LogChanges implements Disposable {
  readonly #clock: Clock;
  readonly #wakeup = new Wakeup();
  #watcher: FSWatcher | undefined;

  constructor(folder: string, clock: Clock) {
    this.#clock = clock;
    try {
      this.#watcher = watch(folder, () => this.#wakeup.wake());
      // Without it, the checks from time to time remain.
      this.#watcher.on('error', () => this[Symbol.dispose]());
    } catch {
      // There are too many watches on this machine.
    }
  }

  /** Resolves when it is time to check again, or the signal aborts. */
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
