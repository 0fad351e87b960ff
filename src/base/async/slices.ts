import { setImmediate as nextTurn } from 'node:timers/promises';

/** How {@link SliceYielder} cuts the work. */
export interface SliceYielderOptions {
  /** Items between two turns of the event loop. */
  readonly itemsPerSlice: number;
  /** Lets the event loop turn once (default: setImmediate). */
  readonly yieldToLoop?: () => Promise<unknown>;
}

/**
 * Cuts long work into slices, so that the event loop turns in between.
 *
 * ```ts
 * for (const item of items) {
 *   work(item);
 *   if (slices.isFull()) await slices.nextSlice();
 * }
 * ```
 *
 * The question is synchronous, so that an item costs no promise.
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

  /** How many slices were begun. */
  get slices(): number {
    return this.#slices;
  }

  /** Counts an item as done, or as many as it is worth; true when the slice is full. */
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
