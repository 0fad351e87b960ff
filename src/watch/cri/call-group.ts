/**
 * Calls that are of use only together: as soon as one fails, or the caller's signal aborts, the others are given up.
 *
 * A signal of their own would do the same; to make one and to listen to it costs more than all else that is done for
 * an idle list of a hundred containers.
 */
export class CallGroup {
  readonly #giveUps = new Set<(reason: unknown) => void>();
  #givenUp: { readonly reason: unknown } | undefined;

  private constructor() {
    // Made by run(), which also ends it.
  }

  /** Runs calls that each take the group in their options. Rejects with the first failure, or the signal's reason. */
  static async run<T>(signal: AbortSignal | undefined, run: (group: CallGroup) => Promise<T>): Promise<T> {
    signal?.throwIfAborted();
    const group = new CallGroup();
    const onAbort = (): void => group.#giveUp(signal!.reason);
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      return await run(group);
    } catch (error) {
      group.#giveUp(error);
      throw error;
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
  }

  /** Throws why the group was given up, if it was: nothing is to be begun in it any more. */
  throwIfGivenUp(): void {
    if (this.#givenUp !== undefined) throw this.#givenUp.reason;
  }

  /** Whether `error` is what the group was given up for: then it says nothing about the call that ended with it. */
  wasGivenUpFor(error: unknown): boolean {
    return this.#givenUp !== undefined && this.#givenUp.reason === error;
  }

  /** `giveUp` is called with the reason when the group is given up. Leave with the same function. */
  join(giveUp: (reason: unknown) => void): void {
    this.#giveUps.add(giveUp);
  }

  /** The call has ended: there is nothing to give up any more. */
  leave(giveUp: (reason: unknown) => void): void {
    this.#giveUps.delete(giveUp);
  }

  #giveUp(reason: unknown): void {
    if (this.#givenUp !== undefined) return;
    this.#givenUp = { reason };
    for (const giveUp of [...this.#giveUps]) giveUp(reason);
  }
}
