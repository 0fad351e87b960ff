import { type NodePod } from './node-pod.js';

/**
 * What a source wants of pods, in the kubelet's words: ADD is new, UPDATE changed, REMOVE no longer wanted, RECONCILE
 * the same pod whose recorded status differs from ours, DELETE to be ended (it has a deletionTimestamp).
 */
export type PodUpdateType = 'ADD' | 'UPDATE' | 'REMOVE' | 'RECONCILE' | 'DELETE';

/** A change that one source wants. The sync loop never sees a source's whole list. */
export interface PodUpdate {
  readonly type: PodUpdateType;
  /** `file`, `http`, `stdin`, `api`. */
  readonly source: string;
  /** Never empty; in the order of the source. With REMOVE the last version that was delivered. */
  readonly pods: readonly NodePod[];
}
