import { type ObjectMeta, type Pod } from './pod.js';

/** A {@link Pod} that this node is to run: with defaults, and with the identity that it has here. */
export interface NodePod extends Pod {
  readonly metadata: NodePodMeta;
}

/** Who a pod of this node is, and whether its source wants it gone. */
export interface NodePodMeta extends ObjectMeta {
  readonly namespace: string;
  /** Never empty. Stays the same over edits of the manifest. */
  readonly uid: string;
  /** The uid by which its source knows it, where that is another: it was taken over under the one that it had. */
  readonly manifestUid?: string;
  /** RFC 3339: somebody deleted it, and it is to end. Only sources that know deletions as such deliver it. */
  readonly deletionTimestamp?: string;
  /** Replaces the spec's grace period once there is a deletionTimestamp. */
  readonly deletionGracePeriodSeconds?: number;
}

/** The uid by which the source of a pod knows it: its own, unless it was taken over under another one. */
export function manifestUidOf({ uid, manifestUid = uid }: Pick<NodePodMeta, 'uid' | 'manifestUid'>): string {
  return manifestUid;
}
