import { type NodePod } from './node-pod.js';

/**
 * The type of a source's change, in the kubelet's words.
 *
 * ADD: new. UPDATE: changed. REMOVE: no longer desired. RECONCILE: the same pod, but its recorded status
 * differs from ours. DELETE: must end (it has a deletionTimestamp).
 */
export type PodUpdateType = 'ADD' | 'UPDATE' | 'REMOVE' | 'RECONCILE' | 'DELETE';

/** A change by one source. The sync loop never sees a source's whole list. */
export interface PodUpdate {
  readonly type: PodUpdateType;
  /** `file`, `http`, `stdin`, `api`. */
  readonly source: string;
  /** Never empty; in the order of the source. For REMOVE, the last version that was delivered. */
  readonly pods: readonly NodePod[];
}
