import { type NodePod } from '#kube/pod/node-pod.js';
import { type ObservedPod, type PodStatus } from '#watch';

/** Why a pod is synced: first seen here, changed, or nothing new but time, an event, a probe. */
export type SyncReason = 'create' | 'update' | 'sync';

/**
 * What replaces the computed phase, reason and message of a pod that is being ended: an eviction, a deadline. It holds
 * until the pod is finished; the newest one given does.
 */
export interface PodStatusOverride {
  readonly phase: 'Failed' | 'Succeeded';
  /** CamelCase: Evicted, DeadlineExceeded, Terminated … */
  readonly reason: string;
  readonly message: string;
  /** The node ends it for the sake of others: what its condition DisruptionTarget says. */
  readonly disruption?: string;
}

/** What {@link PodSyncer.syncPod} works on. */
export interface SyncPodWork {
  readonly reason: SyncReason;
  readonly pod: NodePod;
  /** Newer than the end of the last sync of this pod. */
  readonly observed: PodStatus;
}

/** What became of a sync that did not fail. */
export interface SyncPodResult {
  /** Every container ended for good and none may be started again: the pod is now terminated. */
  readonly isTerminal: boolean;
  /** Sync again after that long (a container in back-off, an active deadline) if that is sooner than the resync. */
  readonly requeueAfterMs?: number;
  /**
   * No call was made that changes the runtime: nothing new is to be seen, so the pod is not looked at because of this
   * sync, and the next one need not wait for a newer view.
   */
  readonly unchanged?: boolean;
}

/** What {@link PodSyncer.syncTerminatingPod} works on. */
export interface TerminatingPodWork {
  readonly pod: NodePod;
  readonly observed: PodStatus;
  /** For the whole pod, from now. Never more than in the call before; may be less in the next. */
  readonly gracePeriodSeconds: number;
  readonly statusOverride?: PodStatusOverride;
  /** The status of some of it cannot be had, and is not waited for: of that there is what a list shows. */
  readonly isPartial?: boolean;
}

/** What {@link PodSyncer.syncTerminatingRuntimePod} works on. */
export interface TerminatingRuntimePodWork {
  /** As a list of the runtime showed it: no manifest of it is known. */
  readonly runningPod: ObservedPod;
  /** Absent: what the containers' own annotations say. */
  readonly gracePeriodSeconds?: number;
  /** As of a {@link TerminatingPodWork}. */
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
 * The four things that are done to a pod, each idempotent: brought nearer to its manifest, ended, ended without a
 * manifest, and cleared up. Pod workers call them, one at a time per pod, and decide when and how often.
 *
 * Whatever rejects is tried again: after about 1 s when it carries the code NETWORK_NOT_READY, else after the
 * back-off period of about 10 s, unless an update comes first. The signal says "start nothing new": calls that change
 * the runtime and are under way settle before the promise does, as the next call would build on them.
 */
export interface PodSyncer {
  /** Starts, restarts and kills containers so that the pod becomes what its manifest says. Its signal aborts on a kill. */
  syncPod(work: SyncPodWork, signal: AbortSignal): Promise<SyncPodResult>;
  /**
   * Whether another {@link syncPod} of the pod, with the view of the last one, need not be made now: nothing was to be
   * done, and nothing that it goes by has changed. Cheap. Every sync is made unless told.
   */
  isSettled?(pod: NodePod, observed: PodStatus): boolean;
  /**
   * Ends every container. Resolves once none runs, rejects otherwise; starts none. Its signal aborts when the grace
   * period shrinks: it is called again with the shorter one as soon as it has rejected, so stops under way may be left
   * to themselves then; the shorter ones overtake them.
   */
  syncTerminatingPod(work: TerminatingPodWork, signal: AbortSignal): Promise<void>;
  /** The same for a pod of ours that only the runtime knows. */
  syncTerminatingRuntimePod(work: TerminatingRuntimePodWork, signal: AbortSignal): Promise<void>;
  /** Gives back what the pod held besides containers (volumes, cgroups) and writes the last status. */
  syncTerminatedPod(work: TerminatedPodWork, signal: AbortSignal): Promise<void>;
}
