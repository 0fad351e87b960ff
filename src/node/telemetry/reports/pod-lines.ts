import { type PodSummary, summarizePod } from '#kube/columns/summarize-pod.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodRef } from '#kube/pod/pod-ref.js';
import { type PodStatusRecord } from '../../status/status-changes.js';

/** One pod as a table of pods shows it. */
export interface PodLine extends PodSummary {
  readonly pod: PodRef;
  /** When the pod was created, from which `podloop get` computes its age; undefined when unknown. */
  readonly createdAtMs: number | undefined;
  /** Who makes it, as `ReplicaSet/web-5d4f`; absent for a pod of its own manifest. */
  readonly owner?: string;
}

/** The sources of lines of pods. */
export interface PodLineSources {
  readonly records: readonly PodStatusRecord[];
  /** As it was last synced. */
  readonly findPod: (uid: string) => NodePod | undefined;
  readonly isTerminating: (uid: string) => boolean;
  /** When it was created, in milliseconds since the epoch; undefined for one that the API does not show. */
  readonly findCreatedMs: (uid: string) => number | undefined;
}

/**
 * A line for every pod with a status, in the order of namespaces and names: but for those that are gone, of which
 * only the record is still there. Pure.
 */
export function toPodLines(sources: PodLineSources): PodLine[] {
  const { records, findPod, isTerminating, findCreatedMs } = sources;
  const lines = records.flatMap(({ pod, status, isFinished }) => {
    const found = findPod(pod.uid);
    const createdAtMs = findCreatedMs(pod.uid);
    if (found === undefined || (isFinished && createdAtMs === undefined)) return [];
    const { spec, metadata } = found;
    const summary = summarizePod({ spec, status, isTerminating: !isFinished && isTerminating(pod.uid) });
    const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
    const owned = owner === undefined ? {} : { owner: `${owner.kind}/${owner.name}` };
    return [{ ...summary, pod, createdAtMs, ...owned }];
  });
  return lines.sort((one, other) => compare(keyOf(one), keyOf(other)));
}

function keyOf({ pod: { namespace, name } }: PodLine): string {
  // A slash sorts after a hyphen, which names may contain.
  return `${namespace}\0${name}`;
}

function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}
