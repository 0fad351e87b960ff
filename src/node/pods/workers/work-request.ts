import { type NodePod } from '#kube/pod/node-pod.js';
import { type ObservedPod } from '#watch';
import { type PodStatusOverride, type SyncReason } from './pod-syncer.js';

/** How a pod is to be ended. Several of these add up: the grace period can only shrink, `evict` stays set. */
export interface KillOptions {
  /** In whole seconds, for the whole pod. Absent: what the pod itself says. Less than 1 counts as 1. */
  readonly gracePeriodSeconds?: number;
  /** What the status is to say of the end; the newest one given holds. */
  readonly statusOverride?: PodStatusOverride;
  /** It ends because the node is short of something. */
  readonly evict?: boolean;
  /**
   * Called once, when no container of the pod is left running or when there never was anything to end; also when the
   * workers are closed before.
   */
  readonly onCompleted?: () => void;
}

/** What {@link PodWorkers.updatePod} takes: a pod to be kept as it says, or one to be ended. */
export type PodWorkRequest =
  | { readonly type: SyncReason; readonly pod: NodePod }
  | { readonly type: 'kill'; readonly pod: NodePod; readonly kill?: KillOptions }
  /** A pod of ours that only the runtime knows. */
  | { readonly type: 'kill'; readonly runningPod: ObservedPod; readonly kill?: KillOptions };
