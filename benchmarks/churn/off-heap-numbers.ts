/**
 * Numbers in order, for a benchmark that looks at the heap: however many they are, nothing of them lives there.
 *
 * They are kept in a buffer that doubles when it is full.
 */
export class OffHeapNumbers {
  #values = new Float64Array(1_024);
  #length = 0;

  push(value: number): void {
    if (this.#length === this.#values.length) {
      const larger = new Float64Array(2 * this.#length);
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[this.#length++] = value;
  }

  get length(): number {
    return this.#length;
  }

  /** A copy, in the heap. */
  toArray(): number[] {
    return [...this.#values.subarray(0, this.#length)];
  }
}
