/**
 * Keeps the pods of a StatefulSet: one for each ordinal, with a name and claims that stay.
 *
 * In order (`OrderedReady`), a pod is made once all before it are ready, and taken away once all behind it are
 * gone; with `Parallel` nothing waits. After an edit pods are replaced one after the other, the last ordinal
 * first, each once its predecessor is ready. A name is free again only when its former pod is gone.
 *
 * @module
 */
import { applyWorkloadDefaults } from '#kube/workloads/read-workload.js';
import { type PodTemplate, type StatefulSet } from '#kube/workloads/workload.js';
import {
  type ActivePod,
  addPod,
  deletePod,
  dropUnusedRevisions,
  isAvailable,
  type Reconciling,
  resolveShare,
  settlePods,
} from './reconciling.js';
import { hashTemplate } from './workload-names.js';
import { type PodEntry, type WorkloadRecord } from './workload-record.js';

/** Changes the record. */
export function reconcileStatefulSet(record: WorkloadRecord, work: Reconciling): void {
  const { metadata, spec } = applyWorkloadDefaults(record.object as StatefulSet);
  const { replicas = 1, minReadySeconds = 0, podManagementPolicy, updateStrategy } = spec;
  const start = spec.ordinals?.start ?? 0;
  const template = withClaims(spec, metadata.name);
  const wanted = hashTemplate(template);
  record.progress.template = wanted;
  const isOrdered = podManagementPolicy !== 'Parallel';
  const isFine = (pod: ActivePod): boolean => isAvailable(pod, minReadySeconds, work);
  const active = new Map<number, ActivePod>();
  for (const pod of settlePods(record, work)) {
    if (pod.progress.end === undefined) active.set(pod.entry.index!, pod);
    else deletePod(record, pod.entry, work);
  }
  try {
    // What is still ending has its name.
    const isTaken = (index: number): boolean => record.pods.some((entry) => entry.index === index);
    const ordinals = Array.from({ length: replicas }, (_, at) => start + at);
    for (const index of ordinals) {
      const pod = active.get(index);
      if (pod === undefined && !isTaken(index)) {
        const at = partitionedTemplate(record, template, spec, index, wanted);
        const name = `${metadata.name}-${index}`;
        const entry = addPod(record, at, work, { name, index });
        active.set(index, { entry, progress: work.progressOf(entry) });
      }
      const now = active.get(index);
      // The next one waits for this one.
      if (isOrdered && (now === undefined || !isFine(now))) return;
    }
    const surplus = record.pods
      .filter(({ index }) => index! < start || index! >= start + replicas)
      .sort((one, other) => other.index! - one.index!);
    if (isOrdered) {
      const [last] = surplus;
      if (last !== undefined) {
        deletePod(record, last, work);
        return;
      }
    } else for (const entry of surplus) deletePod(record, entry, work);
    if (updateStrategy?.type === 'OnDelete') return;
    update(record, ordinals, active, { spec, start, wanted, isFine, work });
  } finally {
    dropUnusedRevisions(record);
  }
}

interface Update {
  readonly spec: StatefulSet['spec'];
  readonly start: number;
  readonly wanted: string;
  readonly isFine: (pod: ActivePod) => boolean;
  readonly work: Reconciling;
}

/** Takes pods of an older template away, the last ordinal first, so that they are made again. */
function update(
  record: WorkloadRecord,
  ordinals: readonly number[],
  active: ReadonlyMap<number, ActivePod>,
  { spec, start, wanted, isFine, work }: Update,
): void {
  const { partition = 0, maxUnavailable = 1 } = spec.updateStrategy?.rollingUpdate ?? {};
  const most = Math.max(1, resolveShare(maxUnavailable, ordinals.length, 'up'));
  let unavailable = ordinals.filter((index) => {
    const pod = active.get(index);
    return pod === undefined || !isFine(pod);
  }).length;
  for (const index of [...ordinals].reverse()) {
    if (index < start + partition) return;
    const pod = active.get(index);
    const isOld = pod !== undefined && pod.entry.revision !== wanted;
    // One that does not work makes room by itself.
    if (isOld && !isFine(pod)) deletePod(record, pod.entry, work);
    else if (isOld && unavailable < most) {
      deletePod(record, pod.entry, work);
      unavailable++;
    } else if (pod === undefined || isOld || !isFine(pod)) {
      if (unavailable >= most) return;
    }
  }
}

/** Below the partition a pod is made of the template that the others there have, while there is one. */
function partitionedTemplate(
  record: WorkloadRecord,
  template: PodTemplate,
  { updateStrategy, ordinals }: StatefulSet['spec'],
  index: number,
  wanted: string,
): PodTemplate {
  const { partition = 0 } = updateStrategy?.rollingUpdate ?? {};
  const isBelow = index < (ordinals?.start ?? 0) + partition;
  if (!isBelow) return template;
  const former = record.pods.find((entry: PodEntry) => entry.revision !== wanted)?.revision;
  return former === undefined ? template : record.revisions[former]!;
}

/** The claim of a template for the pod with an ordinal: `data-web-0`. */
export function claimNameOf(template: string, set: string, index: number): string {
  return `${template}-${set}-${index}`;
}

/** Stands in a template for the ordinal of its pod. */
export const ORDINAL_PLACE = -1;

/** The template with a volume for each claim; a volume of the same name gives way. */
function withClaims({ template, volumeClaimTemplates = [] }: StatefulSet['spec'], set: string): PodTemplate {
  if (volumeClaimTemplates.length === 0) return template;
  const names = new Set(volumeClaimTemplates.map(({ metadata }) => metadata.name));
  const others = (template.spec.volumes ?? []).filter(({ name }) => !names.has(name));
  const volumes = volumeClaimTemplates.map(({ metadata: { name } }) => ({
    name,
    persistentVolumeClaim: { claimName: claimNameOf(name, set, ORDINAL_PLACE) },
  }));
  return { ...template, spec: { ...template.spec, volumes: [...others, ...volumes] } };
}
