/** An item of an {@link InspectionQueue}, which knows whether it has left without having been taken. */
export interface Queued {
  /** The queue it waits in; undefined once it has left. */
  readonly waitsIn: object | undefined;
}

/** A queue with fewer entries is not worth compacting. */
const CLEAR_FROM = 64;

/**
 * A FIFO queue that items may leave at any time at no cost: an item that no longer waits here is skipped.
 *
 * All pods of a full node may vanish while they wait; searching the queue for each of them would be
 * quadratic.
 */
export class InspectionQueue<Item extends Queued> {
  #items: Item[] = [];
  #head = 0;
  #size = 0;

  /** How many items are waiting. */
  get size(): number {
    return this.#size;
  }

  push(item: Item): void {
    this.#items.push(item);
    this.#size++;
  }

  /** Takes the item that has waited longest. */
  shift(): Item | undefined {
    while (this.#head < this.#items.length) {
      const item = this.#items[this.#head++]!;
      if (item.waitsIn !== this) continue;
      this.#size--;
      this.#clear();
      return item;
    }
    this.#clear();
    return undefined;
  }

  /** Notes that one of the waiting items has left, which the item itself shows. */
  left(): void {
    this.#size--;
    this.#clear();
  }

  /**
   * Drops taken and left items once they are the larger part, so that each is moved a bounded number of
   * times.
   */
  #clear(): void {
    if (this.#items.length < CLEAR_FROM || this.#items.length < 2 * this.#size) return;
    this.#items = this.#items.slice(this.#head).filter((item) => item.waitsIn === this);
    this.#head = 0;
  }
}
