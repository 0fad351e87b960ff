import { type PodRef } from '#kube/pod/pod-ref.js';
import { type V1PodStatus } from '#kube/pod/v1-pod-status.js';
import { definePublishingChannel } from '#base/channels/publishing-channel.js';
import { PodloopError } from '#base/errors/errors.js';

/** The status manager's record of a pod. Immutable. */
export interface PodStatusRecord {
  readonly pod: PodRef;
  readonly status: V1PodStatus;
  /** Counts the changes of this pod's status, from 1. */
  readonly version: number;
  /** The pod has ended and its resources are released: this is its last status. */
  readonly isFinished: boolean;
}

/**
 * What a reader of the status manager gets: the newest status of a pod, the end of one, or "read everything
 * again".
 */
export type StatusChange =
  | { readonly type: 'status'; readonly record: PodStatusRecord }
  | { readonly type: 'removed'; readonly pod: PodRef }
  | { readonly type: 'resync' };

/** Every single change as it is made, for readers that must not miss short-lived states. Never `resync`. */
export const podStatusChanged = definePublishingChannel<StatusChange>('podloop:status:changed');

/**
 * One reader's changes: an async iterable that queues at most the newest change per pod.
 *
 * Beyond `capacity` pods it queues only "resync". Statuses in between are skipped: {@link podStatusChanged}
 * has all of them.
 */
export class StatusChanges implements AsyncIterable<StatusChange>, Disposable {
  readonly #capacity: number;
  readonly #onClose: (changes: StatusChanges) => void;
  readonly #pending = new Map<string, StatusChange>();
  #needsResync = false;
  #folded = 0;
  #closed = false;
  #reading = false;
  #wake: (() => void) | undefined;

  constructor(options: { readonly capacity: number; readonly onClose: (changes: StatusChanges) => void }) {
    this.#capacity = options.capacity;
    this.#onClose = options.onClose;
  }

  /** How many changes newer ones replaced before they were read. */
  get folded(): number {
    return this.#folded;
  }

  /** Adds a change; never waits, never throws. Called by the manager. */
  push(podUid: string, change: StatusChange): void {
    if (this.#closed) return;
    const isKnown = this.#pending.delete(podUid);
    if (isKnown || this.#needsResync) this.#folded++;
    if (this.#needsResync) return;
    if (this.#pending.size < this.#capacity) {
      this.#pending.set(podUid, change);
    } else {
      this.#folded += this.#pending.size + 1;
      this.#pending.clear();
      this.#needsResync = true;
    }
    this.#wake?.();
  }

  /** The next queued change, if any, without waiting. */
  take(): StatusChange | undefined {
    if (this.#needsResync) {
      this.#needsResync = false;
      return { type: 'resync' };
    }
    const [first] = this.#pending;
    if (first === undefined) return undefined;
    this.#pending.delete(first[0]);
    return first[1];
  }

  /** Ends the iteration after what is queued. Idempotent. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#onClose(this);
    this.#wake?.();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<StatusChange, void, undefined> {
    if (this.#reading) {
      throw new PodloopError(
        'SUBSCRIPTION_IN_USE',
        'changes of statuses have one reader; subscribe once per reader',
      );
    }
    this.#reading = true;
    try {
      for (;;) {
        const change = this.take();
        if (change !== undefined) yield change;
        else if (this.#closed) return;
        else await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      this.#reading = false;
      this.close();
    }
  }
}
