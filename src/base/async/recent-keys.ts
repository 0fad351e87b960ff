/** A map with a limit: beyond it, the entry that was not used for the longest time is dropped. */
export class RecentMap<Key, Value> {
  readonly #maxKeys: number;
  /** In the order of their last use. */
  readonly #entries = new Map<Key, Value>();

  constructor({ maxKeys }: { readonly maxKeys: number }) {
    this.#maxKeys = maxKeys;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The value of a key, created if there is none. The key becomes the newest one. */
  take(key: Key, make: () => Value): Value {
    const value = this.#entries.has(key) ? this.#entries.get(key)! : make();
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size > this.#maxKeys) this.#entries.delete(this.#entries.keys().next().value!);
    return value;
  }
}

/** The most recently added keys. The oldest one is dropped beyond the limit. */
export class RecentKeys {
  readonly #keys: RecentMap<string, true>;

  constructor(limit: { readonly maxKeys: number }) {
    this.#keys = new RecentMap(limit);
  }

  get size(): number {
    return this.#keys.size;
  }

  /** Adds a key, or makes it the newest one. Returns whether it was missing. */
  add(key: string): boolean {
    let isNew = false;
    this.#keys.take(key, () => (isNew = true));
    return isNew;
  }
}
