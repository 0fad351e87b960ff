/** Runs pieces of work for the same key one after another, for different keys beside one another. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  /** The keys under which something is under way or waits. */
  get keys(): readonly string[] {
    return [...this.#last.keys()];
  }

  /** Runs `work` once everything that was asked for before under this key has settled; settles as it does. */
  run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const result = (this.#last.get(key) ?? Promise.resolve()).then(work);
    const settled = result.then(
      () => undefined,
      () => undefined,
    );
    this.#last.set(key, settled);
    void settled.then(() => {
      if (this.#last.get(key) === settled) this.#last.delete(key);
    });
    return result;
  }

  /** Resolves once nothing is under way any more. */
  async settle(): Promise<void> {
    while (this.#last.size > 0) await Promise.all(this.#last.values());
  }
}
