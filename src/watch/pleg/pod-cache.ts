import { emptyPodStatus, type PodStatus } from '../observed/runtime.js';
import { OLDEST_STAMP, type Stamp } from '#base/time/clock.js';

/** A pod in the cache. */
export interface CachedPod {
  /** The runtime's answer; empty except for the uid if nothing is visible, or if `error` is set. */
  readonly status: PodStatus;
  /** Why the last inspection failed; undefined if it succeeded. */
  readonly error: Error | undefined;
  /** The status is at least as new as this. */
  readonly stamp: Stamp;
}

interface Waiter {
  readonly newerThan: Stamp;
  readonly resolve: (cached: CachedPod) => void;
}

/**
 * The latest status of every pod, and a way to wait for one that is newer.
 *
 * A pod without an entry has nothing visible: `get` returns an empty status, not an error. The
 * age of an entry is the newer of its own stamp and the global one, except for pods that are *behind*. Those
 * are due for inspection and have not been inspected, or their list entry made no sense, so the global stamp
 * does not cover them. "Newer" is strict: an entry with exactly the requested stamp does not satisfy.
 *
 * Only the event generator writes to it; anybody may read.
 */
export class PodCache {
  readonly #entries = new Map<string, CachedPod>();
  /** For pods whose last inspection failed: the status of the last successful one. */
  readonly #lastKnown = new Map<string, PodStatus>();
  /** Uids that the global stamp does not cover. */
  readonly #behind = new Set<string>();
  readonly #waiters = new Map<string, Set<Waiter>>();
  readonly #waitListeners = new Set<(uid: string, newerThan: Stamp) => void>();
  #globalStamp: Stamp = OLDEST_STAMP;

  /** How many pods have an entry. */
  get size(): number {
    return this.#entries.size;
  }

  /** How many waits are pending. */
  get waiting(): number {
    let count = 0;
    for (const waiters of this.#waiters.values()) count += waiters.size;
    return count;
  }

  /** The present status of a pod; never waits, never throws. */
  get(uid: string): CachedPod {
    const entry = this.#entries.get(uid);
    const stamp = this.#effectiveStamp(uid, entry);
    if (entry === undefined) return { status: emptyPodStatus(uid), error: undefined, stamp };
    return stamp === entry.stamp ? entry : { ...entry, stamp };
  }

  /**
   * The status of the last successful inspection, however old; empty if there was none.
   *
   * For callers that can work with an old status while the present one is unknown. A caller that treats
   * absence as an end must use {@link get} and check its error.
   */
  getLastKnown(uid: string): PodStatus {
    return this.#lastKnown.get(uid) ?? this.get(uid).status;
  }

  /**
   * Waits until the status of a pod is strictly newer than `stamp`, and returns it.
   *
   * A wait that is not satisfied at once requests a list of that pod, so that nobody waits for a long relist
   * period. A pod that is gone satisfies it with an empty status. Rejects with the signal's reason.
   */
  async getNewerThan(uid: string, stamp: Stamp, signal?: AbortSignal): Promise<CachedPod> {
    signal?.throwIfAborted();
    const cached = this.get(uid);
    if (cached.stamp > stamp) return cached;
    const answer = new Promise<CachedPod>((resolve, reject) => {
      const onAbort = (): void => {
        this.#removeWaiter(uid, waiter);
        reject(signal?.reason as Error);
      };
      const waiter: Waiter = {
        newerThan: stamp,
        resolve: (newer) => {
          signal?.removeEventListener('abort', onAbort);
          resolve(newer);
        },
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      const waiters = this.#waiters.get(uid);
      if (waiters === undefined) this.#waiters.set(uid, new Set([waiter]));
      else waiters.add(waiter);
    });
    for (const listener of this.#waitListeners) listener(uid, stamp);
    return await answer;
  }

  /** Every uid that has an entry, in no order. */
  uids(): IterableIterator<string> {
    return this.#entries.keys();
  }

  /** Calls `listener` for each wait that is not satisfied at once; returns a function that unsubscribes. */
  onWait(listener: (uid: string, newerThan: Stamp) => void): () => void {
    this.#waitListeners.add(listener);
    return () => this.#waitListeners.delete(listener);
  }

  /** Writes the result of an inspection. */
  set(uid: string, status: PodStatus, error: Error | undefined, stamp: Stamp): void {
    const before = this.#entries.get(uid);
    if (error === undefined) this.#lastKnown.delete(uid);
    else if (before !== undefined && before.error === undefined) this.#lastKnown.set(uid, before.status);
    this.#entries.set(uid, { status, error, stamp });
    this.#wake(uid);
  }

  /** Forgets a pod that was seen to be gone at `stamp`, and wakes its waiters. */
  delete(uid: string, stamp: Stamp): void {
    this.#entries.delete(uid);
    this.#lastKnown.delete(uid);
    this.#behind.delete(uid);
    this.#wake(uid, stamp);
  }

  /** Excludes a pod from the global stamp: it is due, and its status does not get newer. */
  markBehind(uid: string): void {
    if (this.#behind.has(uid)) return;
    const entry = this.#entries.get(uid);
    if (entry !== undefined && entry.stamp < this.#globalStamp) {
      this.#entries.set(uid, { ...entry, stamp: this.#globalStamp });
    }
    this.#behind.add(uid);
  }

  /** Includes a pod in the global stamp again: nothing is due. */
  markCurrent(uid: string): void {
    if (this.#behind.delete(uid)) this.#wake(uid);
  }

  /**
   * Notes that a list of this one pod, at `stamp`, found nothing to inspect.
   *
   * Does not advance a pod that is behind: it was listed, but not inspected.
   */
  observe(uid: string, stamp: Stamp): void {
    if (this.#behind.has(uid)) return;
    const entry = this.#entries.get(uid);
    if (entry !== undefined && entry.stamp < stamp) this.#entries.set(uid, { ...entry, stamp });
    this.#wake(uid, entry === undefined ? stamp : undefined);
  }

  /** Notes a relist of all pods at `stamp`: every pod that is not behind is at least that new. */
  advance(stamp: Stamp): void {
    if (stamp <= this.#globalStamp) return;
    this.#globalStamp = stamp;
    for (const uid of this.#waiters.keys()) this.#wake(uid);
  }

  #effectiveStamp(uid: string, entry: CachedPod | undefined): Stamp {
    const own = entry?.stamp ?? OLDEST_STAMP;
    return this.#behind.has(uid) || own > this.#globalStamp ? own : this.#globalStamp;
  }

  /** `absentAt` is the stamp at which the pod, which has no entry, was seen to be absent. */
  #wake(uid: string, absentAt?: Stamp): void {
    const waiters = this.#waiters.get(uid);
    if (waiters === undefined) return;
    const known = this.get(uid);
    const cached = absentAt !== undefined && absentAt > known.stamp ? { ...known, stamp: absentAt } : known;
    for (const waiter of waiters) {
      if (cached.stamp <= waiter.newerThan) continue;
      this.#removeWaiter(uid, waiter);
      waiter.resolve(cached);
    }
  }

  #removeWaiter(uid: string, waiter: Waiter): void {
    const waiters = this.#waiters.get(uid);
    if (waiters === undefined) return;
    waiters.delete(waiter);
    if (waiters.size === 0) this.#waiters.delete(uid);
  }
}
