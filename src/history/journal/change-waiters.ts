/** Those who wait for something to change, however many. */
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

  /** Something has changed. */
  wakeAll(): void {
    for (const done of [...this.#waiting]) done();
  }
}
