import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodRef } from '#kube/pod/pod-ref.js';
import { isStaticPod } from '#kube/pod/static-pod.js';
import { type ObservedPod } from '#watch';
import { computeGracePeriod } from './grace-period.js';
import { type PodStatusOverride, type SyncReason } from './pod-syncer.js';
import { type KillOptions } from './work-request.js';

/** Pending requests, folded into one. */
export interface PendingWork {
  readonly reason: SyncReason | 'kill';
  /** Monotonic milliseconds of the oldest request; the delay is measured from here. */
  readonly sinceMs: number;
}

/** The reason that says most about a sync ranks highest. */
const REASON_RANK: Readonly<Record<PendingWork['reason'], number>> = {
  sync: 0,
  update: 1,
  create: 2,
  kill: 3,
};

/**
 * What is wanted of one pod: its newest version, and everything requested for its end.
 *
 * The newest request wins; older ones count as folded.
 */
export class PodDemand {
  readonly #onCompleted: (() => void)[] = [];
  #pod: NodePod | undefined;
  #runningPod: ObservedPod | undefined;
  #pending: PendingWork | undefined;
  #gracePeriodSeconds: number | undefined;
  #statusOverride: PodStatusOverride | undefined;
  #isEvicted = false;
  #folded = 0;

  /** As last wanted; undefined when only the runtime knows the pod. */
  get pod(): NodePod | undefined {
    return this.#pod;
  }

  /** As the runtime showed it; undefined once somebody wants it. */
  get runningPod(): ObservedPod | undefined {
    return this.#pod === undefined ? this.#runningPod : undefined;
  }

  get pending(): PendingWork | undefined {
    return this.#pending;
  }

  /** For a pod that is to end; undefined before, and while the annotations of its containers apply. */
  get gracePeriodSeconds(): number | undefined {
    return this.#gracePeriodSeconds;
  }

  get statusOverride(): PodStatusOverride | undefined {
    return this.#statusOverride;
  }

  get isEvicted(): boolean {
    return this.#isEvicted;
  }

  /** Requests that a newer one replaced before they were processed. */
  get folded(): number {
    return this.#folded;
  }

  /** Whether the pod came from a source without deletions: a file, a URL, standard input. */
  get isStatic(): boolean {
    return this.#pod !== undefined && isStaticPod(this.#pod);
  }

  /** Stores the newest version of the pod. */
  want(pod: NodePod): void {
    this.#pod = pod;
  }

  /** Stores what the runtime shows of the pod. */
  see(runningPod: ObservedPod): void {
    this.#runningPod = runningPod;
  }

  /** Records how the pod is to end; true when that made its grace period shorter. */
  end(kill: KillOptions | undefined): boolean {
    if (kill?.onCompleted !== undefined) this.#onCompleted.push(kill.onCompleted);
    if (kill?.statusOverride !== undefined) this.#statusOverride = kill.statusOverride;
    if (kill?.evict === true) this.#isEvicted = true;
    const before = this.#gracePeriodSeconds;
    const wanted = kill?.gracePeriodSeconds;
    this.#gracePeriodSeconds = computeGracePeriod({ current: before, pod: this.#pod, wanted });
    return before !== undefined && this.#gracePeriodSeconds !== before;
  }

  /** Requests work; folds with a pending request. */
  ask(reason: PendingWork['reason'], nowMs: number): void {
    const earlier = this.#pending;
    if (earlier === undefined) {
      this.#pending = { reason, sinceMs: nowMs };
      return;
    }
    this.#folded++;
    const stronger = REASON_RANK[reason] > REASON_RANK[earlier.reason] ? reason : earlier.reason;
    this.#pending = { reason: stronger, sinceMs: earlier.sinceMs };
  }

  /** Takes the pending request; what is wanted of the pod stays. */
  take(): PendingWork | undefined {
    const taken = this.#pending;
    this.#pending = undefined;
    return taken;
  }

  /** Calls everyone who waits for the end of the pod, once each. */
  complete(): void {
    for (const onCompleted of this.#onCompleted.splice(0)) onCompleted();
  }
}

/** How logs name a pod: by its manifest if it is desired, by the runtime's words otherwise. */
export function podRefOf(pod: NodePod): PodRef {
  const { uid, namespace, name } = pod.metadata;
  return { uid, namespace, name };
}
