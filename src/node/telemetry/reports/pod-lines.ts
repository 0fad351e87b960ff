import { type PodSummary, summarizePod } from '#kube/columns/summarize-pod.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodRef } from '#kube/pod/pod-ref.js';
import { type PodStatusRecord } from '../../status/status-changes.js';

/** One pod as a table of pods shows it. */
export interface PodLine extends PodSummary {
  readonly pod: PodRef;
  /** When the pod was created, as `podloop get` counts its age from; undefined when that is not known. */
  readonly createdAtMs: number | undefined;
}

/** What lines of pods are made from. */
export interface PodLineSources {
  readonly records: readonly PodStatusRecord[];
  /** As it was last synced. */
  readonly findPod: (uid: string) => NodePod | undefined;
  readonly isTerminating: (uid: string) => boolean;
  /** When it was created, in milliseconds since the epoch. */
  readonly findCreatedMs: (uid: string) => number | undefined;
}

/** A line for every pod of which there is a status, in the order of namespaces and names. Pure. */
export function toPodLines(sources: PodLineSources): PodLine[] {
  const { records, findPod, isTerminating, findCreatedMs } = sources;
  const lines = records.flatMap(({ pod, status, isFinished }) => {
    const spec = findPod(pod.uid)?.spec;
    if (spec === undefined) return [];
    const summary = summarizePod({ spec, status, isTerminating: !isFinished && isTerminating(pod.uid) });
    return [{ ...summary, pod, createdAtMs: findCreatedMs(pod.uid) }];
  });
  return lines.sort((one, other) => compare(keyOf(one), keyOf(other)));
}

function keyOf({ pod: { namespace, name } }: PodLine): string {
  // A slash sorts behind a hyphen, which names have.
  return `${namespace}\0${name}`;
}

function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}
