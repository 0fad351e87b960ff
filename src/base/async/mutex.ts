/** Runs asynchronous pieces one after another, in the order in which they were asked for. */
export class Mutex {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs `work` once everything that was asked for before has settled; settles as it does. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }

  /** Resolves once everything that was asked for until now has settled. */
  async settled(): Promise<void> {
    await this.#last;
  }
}
