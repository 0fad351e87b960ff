import { type NodePod } from '#kube/pod/node-pod.js';
import { type ObservedPod, type PodStatus } from '#watch';

/** Why a pod is synced: first seen, changed, or without a change (time, an event, a probe). */
export type SyncReason = 'create' | 'update' | 'sync';

/**
 * Replaces the computed phase, reason and message of a pod that is being ended, as for an eviction or a
 * deadline.
 *
 * It stays until the pod is finished; the newest one wins.
 */
export interface PodStatusOverride {
  readonly phase: 'Failed' | 'Succeeded';
  /** CamelCase: Evicted, DeadlineExceeded, Terminated … */
  readonly reason: string;
  readonly message: string;
  /** The node ends it for the sake of others: the reason of its condition DisruptionTarget. */
  readonly disruption?: string;
}

/** What {@link PodSyncer.syncPod} works on. */
export interface SyncPodWork {
  readonly reason: SyncReason;
  readonly pod: NodePod;
  /** Newer than the end of the last sync of this pod. */
  readonly observed: PodStatus;
}

/** The result of a sync that did not fail. */
export interface SyncPodResult {
  /** Every container has ended and none may restart: the pod is terminated now. */
  readonly isTerminal: boolean;
  /** Sync again after this time if that is before the resync: a container in back-off, an active deadline. */
  readonly requeueAfterMs?: number;
  /**
   * The sync made no call that changes the runtime: no relist is needed, and the next sync need not wait for
   * a newer view.
   */
  readonly unchanged?: boolean;
}

/** What {@link PodSyncer.syncTerminatingPod} works on. */
export interface TerminatingPodWork {
  readonly pod: NodePod;
  readonly observed: PodStatus;
  /** For the whole pod, from now. Never more than in the previous call; the next may have less. */
  readonly gracePeriodSeconds: number;
  readonly statusOverride?: PodStatusOverride;
  /** Some of the status is unavailable and not waited for: those parts are as the list shows them. */
  readonly isPartial?: boolean;
}

/** What {@link PodSyncer.syncTerminatingRuntimePod} works on. */
export interface TerminatingRuntimePodWork {
  /** As the runtime's list showed it: its manifest is unknown. */
  readonly runningPod: ObservedPod;
  /** Absent: the annotations of the containers apply. */
  readonly gracePeriodSeconds?: number;
  /** As in {@link TerminatingPodWork}. */
  readonly isPartial?: boolean;
}

/** What {@link PodSyncer.syncTerminatedPod} works on. */
export interface TerminatedPodWork {
  readonly pod: NodePod;
  /** Without a running container. */
  readonly observed: PodStatus;
  readonly statusOverride?: PodStatusOverride;
}

/**
 * The four operations on a pod, each idempotent: sync with its manifest, end it, end it without a manifest,
 * and clean up.
 *
 * Pod workers call them one at a time per pod, and decide when and how often. An operation that rejects is
 * tried again, unless an update comes first: after about 1 s if the error has the code NETWORK_NOT_READY,
 * otherwise after the back-off period of about 10 s. An aborted signal means "start nothing new": calls that
 * change the runtime and are under way settle before the promise does, as the next operation builds on them.
 */
export interface PodSyncer {
  /**
   * Starts, restarts and kills containers until the pod matches its manifest. Its signal aborts on a kill.
   */
  syncPod(work: SyncPodWork, signal: AbortSignal): Promise<SyncPodResult>;
  /**
   * Whether another {@link syncPod} with the same view can be left out (default: false).
   *
   * True if the last one had nothing to do and nothing that it depends on has changed. Cheap.
   */
  isSettled?(pod: NodePod, observed: PodStatus): boolean;
  /**
   * Ends every container: resolves once none runs, rejects otherwise; starts none.
   *
   * Its signal aborts when the grace period shrinks, and it is called again with the shorter one as soon as
   * it has rejected. Stops under way may then run on; the shorter ones overtake them.
   */
  syncTerminatingPod(work: TerminatingPodWork, signal: AbortSignal): Promise<void>;
  /** The same for an owned pod that only the runtime knows. */
  syncTerminatingRuntimePod(work: TerminatingRuntimePodWork, signal: AbortSignal): Promise<void>;
  /** Releases what the pod held besides containers (volumes, cgroups) and writes the last status. */
  syncTerminatedPod(work: TerminatedPodWork, signal: AbortSignal): Promise<void>;
}
