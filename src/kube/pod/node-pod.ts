import { type ObjectMeta, type Pod } from './pod.js';

/** A {@link Pod} that this node should run: with defaults, and with its identity on this node. */
export interface NodePod extends Pod {
  readonly metadata: NodePodMeta;
}

/** The identity of a pod on this node, and whether its source is deleting it. */
export interface NodePodMeta extends ObjectMeta {
  readonly namespace: string;
  /** Never empty. Edits of the manifest do not change it. */
  readonly uid: string;
  /** The uid in its source, if it differs because the pod was adopted under an existing uid. */
  readonly manifestUid?: string;
  /** RFC 3339: the pod was deleted and must end. Only sources that have deletions set it. */
  readonly deletionTimestamp?: string;
  /** The workload that made it, if it is in no manifest itself. */
  readonly ownerReferences?: readonly OwnerReference[];
  /** Replaces the spec's grace period once there is a deletionTimestamp. */
  readonly deletionGracePeriodSeconds?: number;
}

/** A v1 OwnerReference. */
export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/** The uid of a pod in its source: its own, unless it was adopted under another one. */
export function manifestUidOf({ uid, manifestUid = uid }: Pick<NodePodMeta, 'uid' | 'manifestUid'>): string {
  return manifestUid;
}
