/** An async iterable whose items a test pushes. One reader at a time. */
export class PushedItems<T> implements AsyncIterable<T> {
  readonly #items: T[] = [];
  #wake: (() => void) | undefined;
  #isEnded = false;
  #error: unknown;

  /** Items that nobody has read yet. */
  get waiting(): number {
    return this.#items.length;
  }

  push(...items: T[]): void {
    this.#items.push(...items);
    this.#wake?.();
  }

  /** Lets the iteration reject after what was pushed. */
  break(error: unknown): void {
    this.#error = error;
    this.#isEnded = true;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for (;;) {
      const item = this.#items.shift();
      if (item !== undefined) yield item;
      else if (this.#isEnded) throw this.#error;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}
