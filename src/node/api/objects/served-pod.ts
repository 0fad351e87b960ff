import { type NodePod } from '#kube/pod/node-pod.js';
import { type V1PodStatus } from '#kube/pod/v1-pod-status.js';

/** A pod of the node with everything that the API shows of it. */
export interface ServedPod {
  /** As its source wants it, or as of its last sync when no source wants it any more. */
  readonly pod: NodePod;
  readonly status: V1PodStatus;
  /** Milliseconds since the epoch; the same over restarts of the agent. */
  readonly createdAtMs: number;
  /** While it ends because somebody deleted it, or its manifest is gone. */
  readonly deletion: PodDeletion | undefined;
}

/** The end of a pod that nobody wants any more. */
export interface PodDeletion {
  /** When it is gone at the latest, in RFC 3339. */
  readonly deletionTimestamp: string;
  readonly deletionGracePeriodSeconds: number;
}

/** Whether two views of a pod are the same. Their contents are never changed, only replaced. */
export function isSamePod(one: ServedPod, other: ServedPod): boolean {
  return (
    one.pod === other.pod &&
    one.status === other.status &&
    one.createdAtMs === other.createdAtMs &&
    one.deletion?.deletionTimestamp === other.deletion?.deletionTimestamp &&
    one.deletion?.deletionGracePeriodSeconds === other.deletion?.deletionGracePeriodSeconds
  );
}
