/** A map of at most so many entries: what was used longest ago goes for what is new. */
export class RecentMap<K, V> {
  readonly #capacity: number;
  /** In the order of the last use. */
  readonly #entries = new Map<K, V>();

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The entry of the key, made when there is none; used now. */
  take(key: K, make: () => V): V {
    const value = this.#entries.get(key) ?? make();
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size > this.#capacity) {
      const [oldest] = this.#entries.keys();
      this.#entries.delete(oldest!);
    }
    return value;
  }
}
