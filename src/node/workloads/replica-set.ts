import { applyWorkloadDefaults } from '#kube/workloads/read-workload.js';
import { type ReplicaSet, type ReplicationController } from '#kube/workloads/workload.js';
import {
  type ActivePod,
  addPod,
  deletePod,
  dropUnusedRevisions,
  type Reconciling,
  settlePods,
} from './reconciling.js';
import { type WorkloadRecord } from './workload-record.js';

/**
 * Keeps as many pods as a ReplicaSet says: a pod that has ended or was deleted is replaced by a new one.
 *
 * Changes the record. Of too many pods those go first that are not ready, then the newest.
 */
export function reconcileReplicaSet(record: WorkloadRecord, work: Reconciling): void {
  const { spec } = applyWorkloadDefaults(record.object as ReplicaSet | ReplicationController);
  const { replicas = 1, template } = spec;
  const active: ActivePod[] = [];
  for (const pod of settlePods(record, work)) {
    if (pod.progress.end === undefined) active.push(pod);
    else deletePod(record, pod.entry, work);
  }
  for (let missing = replicas - active.length; missing > 0; missing--) addPod(record, template, work);
  const surplus = active.sort(byWorth).slice(Math.max(0, replicas));
  for (const { entry } of surplus) deletePod(record, entry, work);
  dropUnusedRevisions(record);
}

/** Those that are worth more come first. */
function byWorth(one: ActivePod, other: ActivePod): number {
  const rank = ({ progress: { isRunning, readySinceMs } }: ActivePod): number =>
    readySinceMs !== undefined ? 0 : isRunning ? 1 : 2;
  const since = ({ progress, entry }: ActivePod): number => progress.readySinceMs ?? entry.createdAtMs;
  return rank(one) - rank(other) || since(one) - since(other);
}
