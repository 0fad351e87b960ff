/** Any number of callers that wait for a change. */
export class ChangeWaiters {
  readonly #waiting = new Set<() => void>();

  /** Resolves at the next {@link wakeAll}, or when the signal aborts. */
  untilChange(signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.#waiting.delete(done);
        signal?.removeEventListener('abort', done);
        resolve();
      };
      this.#waiting.add(done);
      signal?.addEventListener('abort', done);
      if (signal?.aborted === true) done();
    });
  }

  /** Wakes all waiters after a change. */
  wakeAll(): void {
    for (const done of [...this.#waiting]) done();
  }
}
