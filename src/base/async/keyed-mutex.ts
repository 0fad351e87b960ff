import { abortable } from './abortable.js';

/** Runs asynchronous work sequentially for each key, and concurrently for different keys. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<void>>();

  /** The keys with work that has not settled. */
  get keys(): readonly string[] {
    return [...this.#last.keys()];
  }

  /**
   * Runs `work` once all earlier work of the key has settled; settles like `work`.
   *
   * The signal only ends the wait: this then rejects with its reason, and `work` is never called.
   */
  run<T>(key: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const result = abortable(before, signal).then(work);
    const ignore = (): void => undefined;
    // A caller that stops waiting does not let the next one in.
    const settled = Promise.allSettled([before, result]).then(ignore);
    this.#last.set(key, settled);
    void settled.then(() => {
      if (this.#last.get(key) === settled) this.#last.delete(key);
    });
    return result;
  }

  /** Resolves once all work of the key so far has settled. */
  async settled(key: string): Promise<void> {
    await this.#last.get(key);
  }

  /** Resolves once no work of any key is left, including work that comes meanwhile. */
  async allSettled(): Promise<void> {
    while (this.#last.size > 0) await Promise.all(this.#last.values());
  }
}
