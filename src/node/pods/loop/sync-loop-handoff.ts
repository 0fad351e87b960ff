import { readUntilAborted } from '#base/async/read-until-aborted.js';

/**
 * Hands things one at a time from somebody who reads a queue to a loop that works on them when it can. What is not read
 * yet stays in the queue, which folds by itself.
 */
export class Handoff<T> {
  readonly #onArrival: () => void;
  #item: { readonly value: T; readonly taken: () => void } | undefined;

  /** `onArrival` is called when there is something to take. */
  constructor(options: { onArrival: () => void }) {
    this.#onArrival = options.onArrival;
  }

  /** Offers each item, the next one once the one before was finished; resolves at the end of the source, or of the signal. */
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

  /** What is offered; it stays until it is finished. */
  peek(): T | undefined {
    return this.#item?.value;
  }

  /** What was offered has been dealt with. */
  finish(): void {
    const item = this.#item;
    this.#item = undefined;
    item?.taken();
  }
}
