/** Runs asynchronous work sequentially, in the order of the calls. */
export class Mutex {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs `work` once all earlier work has settled; settles like `work`. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }

  /** Resolves once all work so far has settled. */
  async settled(): Promise<void> {
    await this.#last;
  }
}
