/** Ends what it was given, the last first. (Node 20 has no AsyncDisposableStack.) */
export class Endings implements AsyncDisposable {
  readonly #endings: (() => unknown)[] = [];

  use<T extends AsyncDisposable>(resource: T): T {
    this.#endings.push(() => resource[Symbol.asyncDispose]());
    return resource;
  }

  defer<T extends { close(): void }>(resource: T): T {
    this.#endings.push(() => resource.close());
    return resource;
  }

  /** What cannot be ended keeps nothing else from it: all is tried, then what failed is thrown. */
  async [Symbol.asyncDispose](): Promise<void> {
    const failures: unknown[] = [];
    for (const end of this.#endings.splice(0).reverse()) {
      try {
        await end();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, 'not all could be ended');
  }
}
