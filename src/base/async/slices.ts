import { setImmediate as nextTurn } from 'node:timers/promises';

/** Options of {@link SliceYielder}. */
export interface SliceYielderOptions {
  /** How many items are done between two turns of the event loop. */
  readonly itemsPerSlice: number;
  /** Lets the event loop turn once (default: setImmediate). */
  readonly yieldToLoop?: () => Promise<unknown>;
}

/**
 * Divides long work into slices, so that the event loop turns in between.
 *
 * ```ts
 * for (const item of items) {
 *   work(item);
 *   if (slices.isFull()) await slices.nextSlice();
 * }
 * ```
 *
 * The check is synchronous, so that an item costs no promise.
 */
export class SliceYielder {
  readonly #itemsPerSlice: number;
  readonly #yieldToLoop: () => Promise<unknown>;
  #items = 0;
  #slices = 1;

  constructor({ itemsPerSlice, yieldToLoop = nextTurn }: SliceYielderOptions) {
    this.#itemsPerSlice = itemsPerSlice;
    this.#yieldToLoop = yieldToLoop;
  }

  /** How many slices were started. */
  get slices(): number {
    return this.#slices;
  }

  /** Counts an item, or the number of items that it is worth; returns whether the slice is full. */
  isFull(items = 1): boolean {
    this.#items += items;
    return this.#items >= this.#itemsPerSlice;
  }

  /** Lets the event loop turn and begins the next slice. */
  async nextSlice(): Promise<void> {
    await this.#yieldToLoop();
    this.#items = 0;
    this.#slices++;
  }
}
