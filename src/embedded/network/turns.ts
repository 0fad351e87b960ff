/** Runs pieces of work for the same key one after another, for different keys beside one another. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

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
}
