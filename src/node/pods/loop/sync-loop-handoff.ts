import { readUntilAborted } from '#base/async/read-until-aborted.js';

/**
 * Hands items one at a time from the reader of a queue to a loop that processes them when it can.
 *
 * Items that are not read yet stay in the queue, which folds by itself.
 */
export class Handoff<T> {
  readonly #onArrival: () => void;
  #item: { readonly value: T; readonly taken: () => void } | undefined;

  /** `onArrival` is called when an item is available. */
  constructor(options: { onArrival: () => void }) {
    this.#onArrival = options.onArrival;
  }

  /** Offers each item once the one before is finished; resolves when the source ends or the signal aborts. */
  async offerAll(source: AsyncIterable<T>, signal: AbortSignal): Promise<void> {
    for await (const value of readUntilAborted(source, signal)) {
      await new Promise<void>((resolve) => {
        const taken = (): void => {
          signal.removeEventListener('abort', taken);
          resolve();
        };
        signal.addEventListener('abort', taken, { once: true });
        this.#item = { value, taken };
        this.#onArrival();
      });
      this.#item = undefined;
    }
  }

  /** The item on offer; it stays until it is finished. */
  peek(): T | undefined {
    return this.#item?.value;
  }

  /** Marks the item on offer as processed. */
  finish(): void {
    const item = this.#item;
    this.#item = undefined;
    item?.taken();
  }
}
