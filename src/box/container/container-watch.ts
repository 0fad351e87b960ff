import { watch, type FSWatcher } from 'node:fs';
import { type Clock, type ClockTimer } from '#base/time/clock.js';

/** What a {@link ContainerWatch} needs. */
export interface ContainerWatchOptions {
  readonly dir: string;
  readonly clock: Clock;
  /** Called with the name of a file that may have changed, or undefined when any of them may have. */
  readonly onChange: (name: string | undefined) => void;
}

/** How often the folder is looked at where the kernel would not watch it. */
const POLL_MS = 100;

/**
 * Tells when a file in a container's folder changes: inotify, and looking ten times a second where the kernel has
 * no watch left. A hint may come twice or for nothing; the callback looks at the facts.
 */
export class ContainerWatch {
  readonly #options: ContainerWatchOptions;
  #watcher: FSWatcher | undefined;
  #timer: ClockTimer | undefined;
  #closed = false;

  constructor(options: ContainerWatchOptions) {
    this.#options = options;
    try {
      this.#watcher = watch(options.dir, { persistent: false }, (_type, name) =>
        options.onChange(name ?? undefined),
      );
      this.#watcher.on('error', () => this.#poll());
    } catch {
      this.#poll();
    }
  }

  /** No call of the callback follows. */
  close(): void {
    this.#closed = true;
    this.#watcher?.close();
    this.#timer?.cancel();
  }

  #poll(): void {
    this.#watcher?.close();
    if (this.#closed) return;
    this.#timer = this.#options.clock.setTimer(
      POLL_MS,
      () => {
        this.#options.onChange(undefined);
        if (!this.#closed) this.#poll();
      },
      { unref: true },
    );
  }
}
