/** What an {@link InspectionQueue} holds: it has to know who has left without having been taken. */
export interface Queued {
  /** Where it waits for its turn; undefined once it has left. */
  readonly waitsIn: object | undefined;
}

/** Below that many entries a queue is not worth clearing of those that have left. */
const CLEAR_FROM = 64;

/**
 * First in, first out, and anybody may leave in between at no cost: who no longer waits here is passed over.
 *
 * A node full of pods may vanish while all of them wait; looking each of them up would cost the square of that.
 */
export class InspectionQueue<Item extends Queued> {
  #items: Item[] = [];
  #head = 0;
  #size = 0;

  /** How many are waiting. */
  get size(): number {
    return this.#size;
  }

  push(item: Item): void {
    this.#items.push(item);
    this.#size++;
  }

  /** Takes the one that has waited longest. */
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

  /** One of those waiting has left; it says so itself when asked. */
  left(): void {
    this.#size--;
    this.#clear();
  }

  /** Lets go of who was taken or has left, once they are the larger part: each is moved a bounded number of times. */
  #clear(): void {
    if (this.#items.length < CLEAR_FROM || this.#items.length < 2 * this.#size) return;
    this.#items = this.#items.slice(this.#head).filter((item) => item.waitsIn === this);
    this.#head = 0;
  }
}
