import { toV1Time } from '#kube/pod/v1-pod-status.js';
import { applyWorkloadDefaults } from '#kube/workloads/read-workload.js';
import { formatIndexes } from '#kube/workloads/index-ranges.js';
import { type Job, type PodTemplate } from '#kube/workloads/workload.js';
import { countPods, isFinished } from './job.js';
import { type PodProgress } from './reconciling.js';
import { hashTemplate } from './workload-names.js';
import {
  type PodEntry,
  type WorkloadCondition,
  type WorkloadProgress,
  type WorkloadRecord,
  type WorkloadTree,
} from './workload-record.js';

/** A workload as `kubectl get -o json` shows it. */
export interface V1Workload {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly creationTimestamp: string;
    readonly generation: number;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly object[];
  };
  readonly spec: object;
  readonly status: object;
}

/** What is needed to show the workloads of a tree. */
export interface WorkloadView {
  readonly nowMs: number;
  readonly progressOf: (record: WorkloadRecord, entry: PodEntry) => PodProgress;
}

/** All workloads of a tree that are shown: one whose time after its end is over is not. Pure. */
export function toV1Workloads(tree: WorkloadTree, view: WorkloadView): V1Workload[] {
  const { root, owned } = tree;
  const shown = [root, ...owned].filter(({ progress }) => progress.isExpired !== true);
  return shown.map((record) => toV1Workload(record, tree, view));
}

function toV1Workload(record: WorkloadRecord, tree: WorkloadTree, view: WorkloadView): V1Workload {
  const { object, uid, createdAtMs, generation, progress } = record;
  const { root } = tree;
  const { apiVersion, kind, metadata, spec } = applyWorkloadDefaults(object);
  const owner = root.object;
  const revision = { 'deployment.kubernetes.io/revision': String(progress.revision ?? 1) };
  const isRevised = kind === 'Deployment' || (kind === 'ReplicaSet' && record !== root);
  const annotations = isRevised ? { ...metadata.annotations, ...revision } : metadata.annotations;
  return {
    ...{ apiVersion, kind },
    metadata: {
      ...{ name: metadata.name, namespace: metadata.namespace, uid, generation },
      creationTimestamp: toV1Time(createdAtMs),
      ...(metadata.labels === undefined ? {} : { labels: metadata.labels }),
      ...(annotations === undefined ? {} : { annotations }),
      ...(record === root
        ? {}
        : {
            ownerReferences: [
              {
                ...{ apiVersion: owner.apiVersion, kind: owner.kind, name: owner.metadata.name },
                ...{ uid: root.uid, controller: true, blockOwnerDeletion: true },
              },
            ],
          }),
    },
    spec,
    status: { observedGeneration: generation, ...statusOf(record, tree, view) },
  };
}

function statusOf(record: WorkloadRecord, tree: WorkloadTree, view: WorkloadView): object {
  const { kind } = record.object;
  switch (kind) {
    case 'Deployment':
      return deploymentStatus(tree, view);
    case 'ReplicaSet':
    case 'ReplicationController':
    case 'StatefulSet':
    case 'DaemonSet': {
      const { replicas, ready, available, updated } = countReplicas(record, view);
      if (kind === 'DaemonSet') {
        return {
          ...{ currentNumberScheduled: replicas, desiredNumberScheduled: 1, numberMisscheduled: 0 },
          ...{ numberReady: ready, updatedNumberScheduled: updated, numberAvailable: available },
          numberUnavailable: 1 - Math.min(1, available),
        };
      }
      const counts = { replicas, readyReplicas: ready, availableReplicas: available };
      return kind === 'StatefulSet' ? { ...counts, updatedReplicas: updated } : counts;
    }
    case 'Job':
      return jobStatus(record, view);
    case 'CronJob':
      return cronStatus(tree);
  }
}

interface Counts {
  readonly replicas: number;
  readonly ready: number;
  readonly available: number;
  readonly updated: number;
}

function countReplicas(record: WorkloadRecord, { nowMs, progressOf }: WorkloadView): Counts {
  const spec = record.object.spec as { readonly template: PodTemplate; readonly minReadySeconds?: number };
  const present = record.pods
    .filter(({ deletedAtMs, isGone }) => deletedAtMs === undefined && isGone !== true)
    .map((entry) => ({ entry, progress: progressOf(record, entry) }))
    .filter(({ progress }) => !progress.isStopped && progress.end === undefined);
  const ready = present.flatMap(({ progress }) => progress.readySinceMs ?? []);
  const newest = newestRevision(record, spec.template);
  return {
    replicas: present.length,
    ready: ready.length,
    available: ready.filter((sinceMs) => nowMs >= sinceMs + (spec.minReadySeconds ?? 0) * 1_000).length,
    updated: present.filter(({ entry }) => entry.revision === newest).length,
  };
}

/** A StatefulSet's pods are of its template with the volumes of its claims. */
function newestRevision({ object, progress }: WorkloadRecord, template: PodTemplate): string {
  return object.kind === 'StatefulSet' ? (progress.template ?? '') : hashTemplate(template);
}

function deploymentStatus({ root, owned }: WorkloadTree, view: WorkloadView): object {
  const counts = owned.map((each) => ({ each, counts: countReplicas(each, view) }));
  const sum = (field: keyof Counts): number => counts.reduce((total, { counts: of }) => total + of[field], 0);
  const current = counts.find(({ each }) => each.progress.revision === root.progress.revision);
  const { replicas = 1 } = root.object.spec as { readonly replicas?: number };
  const available = sum('available');
  return {
    ...{ replicas: sum('replicas'), updatedReplicas: current?.counts.replicas ?? 0 },
    ...{ readyReplicas: sum('ready'), availableReplicas: available },
    unavailableReplicas: Math.max(0, replicas - available),
    conditions: [
      {
        type: 'Available',
        ...(available >= replicas
          ? { status: 'True', reason: 'MinimumReplicasAvailable' }
          : { status: 'False', reason: 'MinimumReplicasUnavailable' }),
        message: `Deployment has ${available} of ${replicas} pods available.`,
      },
    ],
  };
}

function jobStatus(record: WorkloadRecord, { progressOf }: WorkloadView): object {
  const { progress, pods } = record;
  const { startedAtMs, completedAtMs } = progress;
  const { succeeded, failed, indexes, failedIndexes } = countPods(record);
  const running = pods
    .filter(({ end, deletedAtMs }) => end === undefined && deletedAtMs === undefined)
    .map((entry) => progressOf(record, entry));
  const isIndexed = (record.object as Job).spec.completionMode === 'Indexed';
  return {
    ...(startedAtMs === undefined ? {} : { startTime: toV1Time(startedAtMs) }),
    ...(completedAtMs === undefined ? {} : { completionTime: toV1Time(completedAtMs) }),
    active: running.length,
    ready: running.filter(({ readySinceMs }) => readySinceMs !== undefined).length,
    ...{ succeeded, failed },
    ...(isIndexed ? { completedIndexes: formatIndexes(indexes) } : {}),
    ...(failedIndexes === undefined ? {} : { failedIndexes: formatIndexes(failedIndexes) }),
    conditions: conditionsOf(progress).map(({ type, status, reason, message, atMs }) => ({
      ...{ type, status, reason, message },
      ...{ lastProbeTime: toV1Time(atMs), lastTransitionTime: toV1Time(atMs) },
    })),
  };
}

/** What ends a Job is a condition of its own, and stands before it has ended. */
function conditionsOf({ ending, conditions = [] }: WorkloadProgress): readonly WorkloadCondition[] {
  if (ending === undefined) return conditions;
  const type = ending.type === 'Failed' ? 'FailureTarget' : 'SuccessCriteriaMet';
  const isLast = (each: WorkloadCondition): boolean => each.type === ending.type;
  return [...conditions.filter((each) => !isLast(each)), { ...ending, type }, ...conditions.filter(isLast)];
}

function cronStatus({ root: { progress, object }, owned }: WorkloadTree): object {
  const { lastScheduleMs, lastSuccessMs } = progress;
  const { namespace } = object.metadata;
  const active = owned.filter((job) => !isFinished(job));
  return {
    ...(lastScheduleMs === undefined ? {} : { lastScheduleTime: toV1Time(lastScheduleMs) }),
    ...(lastSuccessMs === undefined ? {} : { lastSuccessfulTime: toV1Time(lastSuccessMs) }),
    active: active.map(({ uid, object: { metadata } }) => ({
      ...{ apiVersion: 'batch/v1', kind: 'Job', name: metadata.name, namespace, uid },
    })),
  };
}
