/**
 * Calls that are useful only together: when one fails or the caller's signal aborts, the others are
 * cancelled.
 *
 * An AbortController would do the same, but creating one and listening to it costs more than the rest of an
 * idle list of a hundred containers.
 */
export class CallGroup {
  readonly #giveUps = new Set<(reason: unknown) => void>();
  #givenUp: { readonly reason: unknown } | undefined;

  private constructor() {
    // Instances are created by run(), which also ends them.
  }

  /**
   * Runs calls that each take the group in their options. Rejects with the first failure, or the signal's
   * reason.
   */
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

  /** Throws the reason if the group was cancelled; no call may start in it after that. */
  throwIfGivenUp(): void {
    if (this.#givenUp !== undefined) throw this.#givenUp.reason;
  }

  /**
   * Whether `error` is the reason for which the group was cancelled. Such an error says nothing about the
   * call that failed with it.
   */
  wasGivenUpFor(error: unknown): boolean {
    return this.#givenUp !== undefined && this.#givenUp.reason === error;
  }

  /** Calls `giveUp` with the reason when the group is cancelled. Pass the same function to `leave`. */
  join(giveUp: (reason: unknown) => void): void {
    this.#giveUps.add(giveUp);
  }

  /** Removes a call that has ended. */
  leave(giveUp: (reason: unknown) => void): void {
    this.#giveUps.delete(giveUp);
  }

  #giveUp(reason: unknown): void {
    if (this.#givenUp !== undefined) return;
    this.#givenUp = { reason };
    for (const giveUp of [...this.#giveUps]) giveUp(reason);
  }
}
