import { type NodePod } from '#kube/pod/node-pod.js';
import { type ObservedPod } from '#watch';
import { type PodStatusOverride, type SyncReason } from './pod-syncer.js';

/** How to end a pod. Several requests add up: the grace period can only shrink, and `evict` stays set. */
export interface KillOptions {
  /** In whole seconds, for the whole pod (default: what the pod itself says). Less than 1 counts as 1. */
  readonly gracePeriodSeconds?: number;
  /** How the status describes the end; the newest one wins. */
  readonly statusOverride?: PodStatusOverride;
  /** The pod ends because the node is short of something. */
  readonly evict?: boolean;
  /**
   * Called once when no container of the pod runs, or when there was nothing to end; also when the workers
   * close before.
   */
  readonly onCompleted?: () => void;
}

/** What {@link PodWorkers.updatePod} takes: a pod to run as its manifest says, or one to end. */
export type PodWorkRequest =
  | { readonly type: SyncReason; readonly pod: NodePod }
  | { readonly type: 'kill'; readonly pod: NodePod; readonly kill?: KillOptions }
  /** An owned pod that only the runtime knows. */
  | { readonly type: 'kill'; readonly runningPod: ObservedPod; readonly kill?: KillOptions };
