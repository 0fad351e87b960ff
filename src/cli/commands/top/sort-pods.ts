import { type PlegReport, type ReportedInspection, type ReportedStuckPod } from '#kube/node/pleg-report.js';
import { formatPod } from '#kube/pod/pod-ref.js';

/** A pod as the table has it. */
export interface PodRow extends ReportedInspection {
  /** What is wrong with it; undefined when nothing is. */
  readonly stuck: ReportedStuckPod | undefined;
}

/** What the pods are sorted by. */
export type PodOrder = 'worst' | 'last' | 'longest' | 'failures' | 'inspections' | 'name';

/** All orders, as keys go through them. */
export const POD_ORDERS: readonly PodOrder[] = [
  'worst',
  'last',
  'longest',
  'failures',
  'inspections',
  'name',
];

const byName = (one: PodRow, other: PodRow): number => {
  const [name, otherName] = [formatPod(one.pod), formatPod(other.pod)];
  return name < otherName ? -1 : Number(name > otherName);
};

/** Each as it is read from the top. */
const COMPARE: Readonly<Record<PodOrder, (one: PodRow, other: PodRow) => number>> = {
  // Stuck ones, those that are being waited for, then by what they took.
  worst: (one, other) =>
    (other.stuck?.forMs ?? 0) - (one.stuck?.forMs ?? 0) ||
    (other.inFlightMs ?? 0) - (one.inFlightMs ?? 0) ||
    (other.lastMs ?? 0) - (one.lastMs ?? 0),
  last: (one, other) => (other.lastMs ?? 0) - (one.lastMs ?? 0),
  longest: (one, other) => other.longestMs - one.longestMs,
  failures: (one, other) => other.failed - one.failed,
  inspections: (one, other) => other.count - one.count,
  name: byName,
};

/** What is to be shown of the pods, and how. */
export interface PodSelection {
  readonly order: PodOrder;
  readonly reversed: boolean;
  /** Part of a name, namespace or uid; all pods when empty. */
  readonly filter: string;
}

/** The pods that are wanted, in the order that is. Pure. */
export function selectPods(report: PlegReport, { order, reversed, filter }: PodSelection): PodRow[] {
  const stuckByUid = new Map(report.stuckPods.map((stuck) => [stuck.pod.uid, stuck]));
  const rows: PodRow[] = report.slowestPods.map((pod) => ({ ...pod, stuck: stuckByUid.get(pod.pod.uid) }));
  const known = new Set(rows.map(({ pod }) => pod.uid));
  for (const stuck of report.stuckPods) {
    if (known.has(stuck.pod.uid)) continue;
    rows.push({ pod: stuck.pod, longestMs: 0, count: 0, failed: stuck.failures, stuck });
  }
  const wanted = rows.filter(({ pod }) => matches(filter, [formatPod(pod), pod.uid]));
  const sorted = wanted.sort((one, other) => COMPARE[order](one, other) || byName(one, other));
  return reversed ? sorted.reverse() : sorted;
}

/** Whether one of the words has the filter in it, in upper or lower case. */
export function matches(filter: string, words: readonly string[]): boolean {
  const wanted = filter.toLowerCase();
  return words.some((word) => word.toLowerCase().includes(wanted));
}
