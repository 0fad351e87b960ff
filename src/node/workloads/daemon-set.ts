import { applyWorkloadDefaults } from '#kube/workloads/read-workload.js';
import { type DaemonSet } from '#kube/workloads/workload.js';
import {
  type ActivePod,
  addPod,
  deletePod,
  dropUnusedRevisions,
  isAvailable,
  type Reconciling,
  settlePods,
} from './reconciling.js';
import { hashTemplate } from './workload-names.js';
import { type WorkloadRecord } from './workload-record.js';

/**
 * Keeps the one pod that a DaemonSet has on a node.
 *
 * After an edit the old pod ends before the new one is made, or with maxSurge once the new one is available.
 * Changes the record.
 */
export function reconcileDaemonSet(record: WorkloadRecord, work: Reconciling): void {
  const { spec } = applyWorkloadDefaults(record.object as DaemonSet);
  const { template, updateStrategy, minReadySeconds = 0 } = spec;
  const wanted = hashTemplate(template);
  const active: ActivePod[] = [];
  for (const pod of settlePods(record, work)) {
    if (pod.progress.end === undefined) active.push(pod);
    else deletePod(record, pod.entry, work);
  }
  const current = active.filter(({ entry }) => entry.revision === wanted);
  const old = active.filter(({ entry }) => entry.revision !== wanted);
  const surges = isMoreThanZero(updateStrategy?.rollingUpdate?.maxSurge);
  if (updateStrategy?.type !== 'OnDelete' && old.length > 0) {
    const isReplaced = current.some((pod) => isAvailable(pod, minReadySeconds, work));
    const serves = old.some((pod) => isAvailable(pod, minReadySeconds, work));
    if (!surges || isReplaced || !serves) {
      for (const { entry } of old) deletePod(record, entry, work);
    }
  }
  for (const { entry } of current.slice(1)) deletePod(record, entry, work);
  const isMissing = record.pods.length === 0;
  const mayBeBeside = surges && current.length === 0 && updateStrategy?.type !== 'OnDelete';
  if (isMissing || (mayBeBeside && record.pods.every(({ revision }) => revision !== wanted))) {
    addPod(record, template, work);
  }
  dropUnusedRevisions(record);
}

function isMoreThanZero(share: number | string | undefined): boolean {
  return share !== undefined && share !== 0 && !/^0+%$/.test(String(share));
}
