/** Releases a lock. Calling it twice does nothing. */
export type ReleaseLock = () => void;

interface Waiter {
  readonly priority: number;
  readonly grant: (release: ReleaseLock) => void;
}

/** A lock with one holder at a time; the lowest priority number goes first, then the order of arrival. */
export class PriorityLock {
  #held = false;
  #waiters: Waiter[] = [];

  /** How many callers are waiting. */
  get waiting(): number {
    return this.#waiters.length;
  }

  /**
   * Resolves with the release function when the caller gets the lock; rejects with the signal's reason if it
   * aborts before.
   */
  async acquire(priority: number, signal?: AbortSignal): Promise<ReleaseLock> {
    signal?.throwIfAborted();
    if (!this.#held) {
      this.#held = true;
      return this.#newRelease();
    }
    return await new Promise<ReleaseLock>((resolve, reject) => {
      const onAbort = (): void => {
        this.#waiters = this.#waiters.filter((other) => other !== waiter);
        reject(signal?.reason as Error);
      };
      const waiter: Waiter = {
        priority,
        grant: (release) => {
          signal?.removeEventListener('abort', onAbort);
          resolve(release);
        },
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      const index = this.#waiters.findIndex((other) => other.priority > priority);
      this.#waiters.splice(index === -1 ? this.#waiters.length : index, 0, waiter);
    });
  }

  #newRelease(): ReleaseLock {
    let released = false;
    return () => {
      if (released) return;
      released = true;
      const next = this.#waiters.shift();
      if (next === undefined) this.#held = false;
      else next.grant(this.#newRelease());
    };
  }
}
