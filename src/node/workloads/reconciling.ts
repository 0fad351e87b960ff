import { type PodTemplate } from '#kube/workloads/workload.js';
import { randomSuffix } from '#base/text/random-suffix.js';
import { generateName, hashTemplate } from './workload-names.js';
import { type PodEntry, type WorkloadRecord } from './workload-record.js';

/** What is known of a pod at this moment. */
export interface PodProgress {
  /** How it ended for good, which is on the disk; undefined while it has not. */
  readonly end: 'Succeeded' | 'Failed' | undefined;
  readonly isRunning: boolean;
  /** Since when it is ready, in milliseconds since the epoch; undefined while it is not. */
  readonly readySinceMs: number | undefined;
  /** Restarts of all its containers. */
  readonly restarts: number;
  /** Somebody has deleted the pod itself. */
  readonly isStopped: boolean;
  /** Nothing of it is left to end. */
  readonly isGone: boolean;
  /** Exit codes of its containers that have ended, by name. */
  readonly exitCodes: Readonly<Record<string, number>>;
  /** Conditions of the pod that are true, or what they are. */
  readonly conditions: Readonly<Record<string, string>>;
}

/** An event about a workload, in the words of Kubernetes. */
export interface WorkloadEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** What a controller sees, and where its decisions go. */
export interface Reconciling {
  readonly nowMs: number;
  readonly random: () => number;
  readonly newUid: () => string;
  readonly progressOf: (entry: PodEntry) => PodProgress;
  readonly emit: (about: WorkloadRecord, event: WorkloadEvent) => void;
  /** Asks to be called again at that time at the latest. */
  readonly callAt: (timeMs: number) => void;
}

/** How often it is checked whether anything is left of a pod. */
const REMAINS_MS = 1_000;

/** A pod that its workload still counts on. */
export interface ActivePod {
  readonly entry: PodEntry;
  readonly progress: PodProgress;
}

/** Makes entries of pods follow what became of them; returns those that are still counted on. */
export function settlePods(record: WorkloadRecord, work: Reconciling): ActivePod[] {
  const active: ActivePod[] = [];
  record.pods = record.pods.filter((entry) => {
    if (entry.isGone === true) return true;
    const progress = work.progressOf(entry);
    const isLeaving = entry.deletedAtMs !== undefined || progress.isStopped;
    if (!isLeaving) active.push({ entry, progress });
    if (isLeaving && !progress.isGone) work.callAt(work.nowMs + REMAINS_MS);
    return !(isLeaving && progress.isGone);
  });
  return active;
}

/** Whether a pod is ready for as long as its workload wants it to be, before it counts as available. */
export function isAvailable({ progress }: ActivePod, minReadySeconds: number, work: Reconciling): boolean {
  const { readySinceMs } = progress;
  if (readySinceMs === undefined) return false;
  const dueMs = readySinceMs + minReadySeconds * 1_000;
  if (work.nowMs >= dueMs) return true;
  work.callAt(dueMs);
  return false;
}

/** Makes an entry for a new pod with a random name, of the template as it is now. */
export function addPod(
  record: WorkloadRecord,
  template: PodTemplate,
  work: Reconciling,
  more: Pick<Partial<PodEntry>, 'name' | 'index' | 'indexFailures'> & { readonly base?: string } = {},
): PodEntry {
  const revision = hashTemplate(template);
  record.revisions[revision] = template;
  const taken = new Set(record.pods.map(({ name }) => name));
  const { base = `${record.object.metadata.name}-`, index, indexFailures } = more;
  let { name } = more;
  while (name === undefined || (more.name === undefined && taken.has(name))) {
    name = generateName(base, randomSuffix(work.random));
  }
  const entry: PodEntry = {
    ...{ name, uid: work.newUid(), createdAtMs: work.nowMs, revision },
    ...(index === undefined ? {} : { index }),
    ...(indexFailures === undefined ? {} : { indexFailures }),
  };
  record.pods.push(entry);
  work.emit(record, { type: 'Normal', reason: 'SuccessfulCreate', message: createdMessage(record, name) });
  return entry;
}

/** Does not want a pod any more: it ends with its grace period. */
export function deletePod(record: WorkloadRecord, entry: PodEntry, work: Reconciling): void {
  if (entry.deletedAtMs !== undefined) return;
  entry.deletedAtMs = work.nowMs;
  const { kind, metadata } = record.object;
  const message =
    kind === 'StatefulSet'
      ? `delete Pod ${entry.name} in StatefulSet ${metadata.name} successful`
      : `Deleted pod: ${entry.name}`;
  work.emit(record, { type: 'Normal', reason: 'SuccessfulDelete', message });
}

function createdMessage({ object: { kind, metadata } }: WorkloadRecord, name: string): string {
  return kind === 'StatefulSet'
    ? `create Pod ${name} in StatefulSet ${metadata.name} successful`
    : `Created pod: ${name}`;
}

/** Forgets templates that no pod is of. */
export function dropUnusedRevisions(record: WorkloadRecord): void {
  const used = new Set(record.pods.map(({ revision }) => revision));
  record.revisions = Object.fromEntries(
    Object.entries(record.revisions).filter(([revision]) => used.has(revision)),
  );
}

/** A number, or a percentage of a whole. */
export function resolveShare(share: number | string, whole: number, round: 'up' | 'down'): number {
  if (typeof share === 'number') return share;
  const part = (Number.parseInt(share) * whole) / 100;
  return round === 'up' ? Math.ceil(part) : Math.floor(part);
}
