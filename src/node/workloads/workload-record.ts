/**
 * What an agent stores of a workload: what was made for it, and how far that has got.
 *
 * A {@link WorkloadTree} is one file: the object of a manifest with the ReplicaSets or Jobs that were made for
 * it. So a change of any of them is on the disk as a whole, or not at all. Counts follow from the entries of
 * pods and are stored nowhere else, so that no pod counts twice.
 *
 * @module
 */
import { type PodTemplate, type Workload } from '#kube/workloads/workload.js';

/** Workloads that have pods, or make objects that have them. */
export type ControlledKind =
  'Deployment' | 'ReplicaSet' | 'ReplicationController' | 'StatefulSet' | 'DaemonSet' | 'Job' | 'CronJob';

/** A workload of such a kind. */
export type ControlledWorkload = Extract<Workload, { readonly kind: ControlledKind }>;

/** A pod that was made for a workload. */
export interface PodEntry {
  readonly name: string;
  readonly uid: string;
  readonly createdAtMs: number;
  /** Key of its template in {@link WorkloadRecord.revisions}. */
  readonly revision: string;
  /** The ordinal in a StatefulSet, the completion index in an indexed Job. */
  readonly index?: number;
  /** Since when its workload does not want it any more; it may still be ending. */
  deletedAtMs?: number;
  /** How it ended. Only Jobs store that; it never changes again. */
  end?: 'Succeeded' | 'Failed';
  endedAtMs?: number;
  /** Its failure counts for nothing, by a rule of the Job. */
  isIgnored?: boolean;
  /** Its failure fails its index, by a rule of the Job. */
  failsIndex?: boolean;
  /** The failures of its index before it, where the Job has a limit for each index. */
  readonly indexFailures?: { readonly counted: number; readonly ignored: number };
  /** Nothing is left of the pod; only its end still counts. */
  isGone?: boolean;
}

/** A condition in the status of a workload. */
export interface WorkloadCondition {
  readonly type: string;
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
  readonly atMs: number;
}

/** What a workload has done so far, beside its pods. */
export interface WorkloadProgress {
  startedAtMs?: number;
  completedAtMs?: number;
  /** A Job's end is certain; its last pods may still be ending. */
  ending?: WorkloadCondition;
  conditions?: WorkloadCondition[];
  /** Nothing is shown of the Job any more: its time after the end is over. */
  isExpired?: boolean;
  isSuspended?: boolean;
  lastScheduleMs?: number;
  lastSuccessMs?: number;
  /** The revision that a StatefulSet's pods are to be of. */
  template?: string;
  /** The number of a Deployment's revision. */
  revision?: number;
}

/** A workload and what was made for it. */
export interface WorkloadRecord {
  readonly uid: string;
  readonly createdAtMs: number;
  /** Counts the versions of the object, from 1. */
  generation: number;
  /** As written, without defaults; of a root with what {@link WorkloadTree.written} says. */
  object: ControlledWorkload;
  /** Templates that pods were made of, by revision. */
  revisions: Record<string, PodTemplate>;
  pods: PodEntry[];
  progress: WorkloadProgress;
}

/** See the module. */
export interface WorkloadTree {
  /** `file`, `http`, `stdin`. */
  readonly source: string;
  /** As its manifest has the root, where somebody has changed it beside the manifest; until that changes. */
  written?: ControlledWorkload;
  root: WorkloadRecord;
  /** ReplicaSets of a Deployment, Jobs of a CronJob. */
  owned: WorkloadRecord[];
}

/** All records of a tree, the root first. */
export function recordsOf({ root, owned }: WorkloadTree): WorkloadRecord[] {
  return [root, ...owned];
}

/** `Deployment default/web`. */
export function nameOfWorkload({ kind, metadata }: Pick<Workload, 'kind' | 'metadata'>): string {
  return `${kind} ${metadata.namespace}/${metadata.name}`;
}

/** Throws if the content is not a whole tree. */
export function parseTree(content: Readonly<Record<string, unknown>>): WorkloadTree {
  const { source, root, owned } = content as Partial<WorkloadTree>;
  const isWhole = (value: Partial<WorkloadRecord> = {}): boolean => {
    const { uid, createdAtMs, object, pods, revisions = {} } = value;
    const meta = (object as Partial<ControlledWorkload> | undefined)?.metadata;
    return (
      [uid, meta?.name, meta?.namespace].every((each) => typeof each === 'string') &&
      typeof createdAtMs === 'number' &&
      Array.isArray(pods) &&
      pods.every(({ revision }) => Object.hasOwn(revisions, revision))
    );
  };
  if (typeof source !== 'string' || !Array.isArray(owned) || ![root, ...owned].every(isWhole)) {
    throw new Error('it is not what was written');
  }
  return content as unknown as WorkloadTree;
}
