import { emptyPodStatus, type PodStatus } from '../observed/runtime.js';
import { OLDEST_STAMP, type Stamp } from '#base/time/clock.js';

/** What the cache knows of a pod. */
export interface CachedPod {
  /** Everything the runtime said; empty but for the uid when nothing is visible, or when `error` is set. */
  readonly status: PodStatus;
  /** Why the last inspection failed; undefined when it succeeded. */
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
 * A pod that the cache does not hold is one of which nothing is visible: `get` gives an empty status, not an
 * error. The time of an entry is the newer of its own stamp and the global one, except for pods that are
 * *behind*: they were due for inspection and have not been inspected, or what a look had of them made no sense, so the
 * global stamp says nothing of them.
 * "Newer" is strict: an entry of exactly the stamp that was asked for does not satisfy.
 *
 * Written by the event generator alone; read by everybody.
 */
export class PodCache {
  readonly #entries = new Map<string, CachedPod>();
  /** Of pods whose last inspection failed: what the one before it that did not had found. */
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

  /** How many waits are not satisfied yet. */
  get waiting(): number {
    let count = 0;
    for (const waiters of this.#waiters.values()) count += waiters.size;
    return count;
  }

  /** The status of a pod as known now; never waits, never throws. */
  get(uid: string): CachedPod {
    const entry = this.#entries.get(uid);
    const stamp = this.#effectiveStamp(uid, entry);
    if (entry === undefined) return { status: emptyPodStatus(uid), error: undefined, stamp };
    return stamp === entry.stamp ? entry : { ...entry, stamp };
  }

  /**
   * What the last inspection that succeeded has found, however old that is; empty where none has. For those who go on with what was so
   * while nobody knows what is; who takes absence for an end goes by {@link get}, and by its error.
   */
  getLastKnown(uid: string): PodStatus {
    return this.#lastKnown.get(uid) ?? this.get(uid).status;
  }

  /**
   * The status of a pod once it is strictly newer than `stamp`.
   *
   * A wait that is not satisfied at once asks for a look at that pod, so that nobody waits for a long relist
   * period. A pod that is gone satisfies with an empty status. Rejects with the signal's reason.
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

  /** Calls `listener` whenever a wait begins that is not satisfied, with what it waits for; returns how to stop that. */
  onWait(listener: (uid: string, newerThan: Stamp) => void): () => void {
    this.#waitListeners.add(listener);
    return () => this.#waitListeners.delete(listener);
  }

  /** Writes what an inspection found. */
  set(uid: string, status: PodStatus, error: Error | undefined, stamp: Stamp): void {
    const before = this.#entries.get(uid);
    if (error === undefined) this.#lastKnown.delete(uid);
    else if (before !== undefined && before.error === undefined) this.#lastKnown.set(uid, before.status);
    this.#entries.set(uid, { status, error, stamp });
    this.#wake(uid);
  }

  /** Forgets a pod that was seen to be gone at `stamp`, and wakes who waited for it. */
  delete(uid: string, stamp: Stamp): void {
    this.#entries.delete(uid);
    this.#lastKnown.delete(uid);
    this.#behind.delete(uid);
    this.#wake(uid, stamp);
  }

  /** Takes the global stamp's cover from a pod: it is due, and what is known of it stays as old as it is. */
  markBehind(uid: string): void {
    if (this.#behind.has(uid)) return;
    const entry = this.#entries.get(uid);
    if (entry !== undefined && entry.stamp < this.#globalStamp) {
      this.#entries.set(uid, { ...entry, stamp: this.#globalStamp });
    }
    this.#behind.add(uid);
  }

  /** Gives a pod back to the global stamp: nothing is due. */
  markCurrent(uid: string): void {
    if (this.#behind.delete(uid)) this.#wake(uid);
  }

  /**
   * A look at this one pod, at `stamp`, found nothing to inspect. Claims nothing for a pod that is behind: it was
   * looked at, but what is due of it has not been inspected.
   */
  observe(uid: string, stamp: Stamp): void {
    if (this.#behind.has(uid)) return;
    const entry = this.#entries.get(uid);
    if (entry !== undefined && entry.stamp < stamp) this.#entries.set(uid, { ...entry, stamp });
    this.#wake(uid, entry === undefined ? stamp : undefined);
  }

  /** A look at all pods, at `stamp`: every pod that is not behind is at least that new. */
  advance(stamp: Stamp): void {
    if (stamp <= this.#globalStamp) return;
    this.#globalStamp = stamp;
    for (const uid of this.#waiters.keys()) this.#wake(uid);
  }

  #effectiveStamp(uid: string, entry: CachedPod | undefined): Stamp {
    const own = entry?.stamp ?? OLDEST_STAMP;
    return this.#behind.has(uid) || own > this.#globalStamp ? own : this.#globalStamp;
  }

  /** `absentAt` is the stamp at which the pod, which has no entry, was seen not to be there. */
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
