import { messageOf } from '../errors/errors.js';

/**
 * Ends what it was given, the last first. (Node 20 has no AsyncDisposableStack, whose interface this is.)
 *
 * After its disposal it is empty, and can be used again.
 */
export class DisposalStack implements AsyncDisposable {
  readonly #ends: (() => unknown)[] = [];

  /** Disposes of a resource at the end; returns it. */
  use<Resource extends AsyncDisposable>(resource: Resource): Resource {
    this.defer(() => resource[Symbol.asyncDispose]());
    return resource;
  }

  /** Calls a function at the end, and waits for it. */
  defer(end: () => unknown): void {
    this.#ends.push(end);
  }

  /** Another stack with everything that this one was given; this one is empty then. */
  move(): DisposalStack {
    const other = new DisposalStack();
    other.#ends.push(...this.#ends.splice(0));
    return other;
  }

  /** Ends everything, whatever fails, one after another. Then rejects with all that failed. */
  async [Symbol.asyncDispose](): Promise<void> {
    const failures: unknown[] = [];
    for (const end of this.#ends.splice(0).reverse()) {
      try {
        await end();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length === 1) throw failures[0];
    if (failures.length > 1) throw new AggregateError(failures, failures.map(messageOf).join('; '));
  }
}
