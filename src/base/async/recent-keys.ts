/** The most recently added keys. The oldest one is dropped beyond the limit. */
export class RecentKeys {
  readonly #maxKeys: number;
  /** In the order of their last addition. */
  readonly #keys = new Set<string>();

  constructor({ maxKeys }: { readonly maxKeys: number }) {
    this.#maxKeys = maxKeys;
  }

  get size(): number {
    return this.#keys.size;
  }

  /** Adds a key, or makes it the newest one. Returns whether it was missing. */
  add(key: string): boolean {
    const isNew = !this.#keys.delete(key);
    this.#keys.add(key);
    const [oldest] = this.#keys;
    if (this.#keys.size > this.#maxKeys && oldest !== undefined) this.#keys.delete(oldest);
    return isNew;
  }
}
