/**
 * Rolls a Deployment out: a ReplicaSet for each template; the newest gets the pods.
 *
 * ```
 *   edit ─► new ReplicaSet with 0 pods ─► up by what maxSurge leaves ─► its pods are ready
 *                                                                          │
 *                 all pods are new  ◄── old ones go, as many as may be unavailable
 * ```
 *
 * An old pod goes only when enough others are available, so a template that never gets ready takes no more pods
 * away than maxUnavailable says. Each call does one step; the ReplicaSets are reconciled after it.
 *
 * @module
 */
import { applyWorkloadDefaults } from '#kube/workloads/read-workload.js';
import { type Deployment, type LabelSelector, type ReplicaSet } from '#kube/workloads/workload.js';
import { isAvailable, type Reconciling, resolveShare, settlePods } from './reconciling.js';
import { reconcileReplicaSet } from './replica-set.js';
import { hashTemplate } from './workload-names.js';
import { type WorkloadRecord, type WorkloadTree } from './workload-record.js';

/** On each pod of a ReplicaSet, and in its selector. */
const TEMPLATE_HASH_LABEL = 'pod-template-hash';

/** Changes the tree. */
export function reconcileDeployment(tree: WorkloadTree, work: Reconciling): void {
  const deployment = applyWorkloadDefaults(tree.root.object as Deployment);
  const { spec } = deployment;
  const { replicas = 1, paused = false, strategy, revisionHistoryLimit = 10 } = spec;
  const hash = hashTemplate(spec.template);
  let current = tree.owned.find((each) => hashOf(each) === hash);
  const old = tree.owned.filter((each) => each !== current);
  if (current === undefined && !paused) {
    current = makeReplicaSet(tree, deployment, hash, work);
  } else if (current !== undefined) {
    renewReplicaSet(current, tree, deployment);
  }
  if (paused) scaleWhilePaused(tree, replicas, work);
  else if (strategy?.type === 'Recreate') recreate(tree.root, current!, old, replicas, work);
  else roll(tree.root, current!, old, deployment, work);
  for (const each of tree.owned) reconcileReplicaSet(each, work);
  const empty = old.filter((each) => each.pods.length === 0 && replicasOf(each) === 0);
  const spare = empty
    .sort((one, other) => (other.progress.revision ?? 0) - (one.progress.revision ?? 0))
    .slice(revisionHistoryLimit);
  tree.owned = tree.owned.filter((each) => !spare.includes(each));
}

/** How many pods a ReplicaSet is to have. */
export function replicasOf({ object }: WorkloadRecord): number {
  return (object as ReplicaSet).spec.replicas ?? 1;
}

function hashOf({ object }: WorkloadRecord): string | undefined {
  return object.metadata.labels?.[TEMPLATE_HASH_LABEL];
}

function toReplicaSet(deployment: Deployment, hash: string, replicas: number): ReplicaSet {
  const { metadata, spec } = deployment;
  const own = { [TEMPLATE_HASH_LABEL]: hash };
  const labels = { ...spec.template.metadata?.labels, ...own };
  const { matchLabels, matchExpressions } = spec.selector;
  const selector: LabelSelector = {
    matchLabels: { ...matchLabels, ...own },
    ...(matchExpressions === undefined ? {} : { matchExpressions }),
  };
  return {
    ...{ apiVersion: 'apps/v1', kind: 'ReplicaSet' },
    metadata: { name: `${metadata.name}-${hash}`, namespace: metadata.namespace, labels },
    spec: {
      ...{ replicas, selector, minReadySeconds: spec.minReadySeconds ?? 0 },
      template: { ...spec.template, metadata: { ...spec.template.metadata, labels } },
    },
  };
}

function makeReplicaSet(
  tree: WorkloadTree,
  deployment: Deployment,
  hash: string,
  work: Reconciling,
): WorkloadRecord {
  const record: WorkloadRecord = {
    ...{ uid: work.newUid(), createdAtMs: work.nowMs, generation: 1 },
    object: toReplicaSet(deployment, hash, 0),
    ...{ revisions: {}, pods: [], progress: { revision: nextRevision(tree) } },
  };
  tree.root.progress.revision = record.progress.revision!;
  tree.owned.push(record);
  return record;
}

/** A template that comes back has its ReplicaSet again, as the newest revision. */
function renewReplicaSet(record: WorkloadRecord, tree: WorkloadTree, deployment: Deployment): void {
  record.object = toReplicaSet(deployment, hashOf(record)!, replicasOf(record));
  if (record.progress.revision === tree.root.progress.revision) return;
  record.progress.revision = nextRevision(tree);
  tree.root.progress.revision = record.progress.revision;
}

function nextRevision({ owned }: WorkloadTree): number {
  return Math.max(0, ...owned.map(({ progress }) => progress.revision ?? 0)) + 1;
}

function scale(root: WorkloadRecord, record: WorkloadRecord, replicas: number, work: Reconciling): void {
  const before = replicasOf(record);
  if (before === replicas) return;
  record.object = { ...record.object, spec: { ...record.object.spec, replicas } } as ReplicaSet;
  record.generation++;
  const how = replicas > before ? 'up' : 'down';
  const { name } = record.object.metadata;
  const message = `Scaled ${how} replica set ${name} from ${before} to ${replicas}`;
  work.emit(root, { type: 'Normal', reason: 'ScalingReplicaSet', message });
}

/** Nothing rolls on; the newest ReplicaSet that has pods gets what is missing or gives up what is too much. */
function scaleWhilePaused({ root, owned }: WorkloadTree, replicas: number, work: Reconciling): void {
  const total = owned.reduce((sum, each) => sum + replicasOf(each), 0);
  let missing = replicas - total;
  const turns = owned
    .filter((each) => replicasOf(each) > 0)
    .sort((one, other) => (other.progress.revision ?? 0) - (one.progress.revision ?? 0));
  for (const each of turns) {
    const wanted = Math.max(0, replicasOf(each) + missing);
    missing -= wanted - replicasOf(each);
    scale(root, each, wanted, work);
  }
}

function recreate(
  root: WorkloadRecord,
  current: WorkloadRecord,
  old: readonly WorkloadRecord[],
  replicas: number,
  work: Reconciling,
): void {
  for (const each of old) scale(root, each, 0, work);
  // Those that have ended are taken out as they are settled.
  for (const each of old) settlePods(each, work);
  if (old.every(({ pods }) => pods.length === 0)) scale(root, current, replicas, work);
}

function roll(
  root: WorkloadRecord,
  current: WorkloadRecord,
  old: readonly WorkloadRecord[],
  { spec }: Deployment,
  work: Reconciling,
): void {
  const { replicas = 1, minReadySeconds = 0, strategy } = spec;
  const { maxSurge = '25%', maxUnavailable = '25%' } = strategy?.rollingUpdate ?? {};
  const surge = resolveShare(maxSurge, replicas, 'up');
  const share = resolveShare(maxUnavailable, replicas, 'down');
  // As in Kubernetes: a percentage of a few replicas may be nothing, and something has to happen.
  const unavailable = surge === 0 && share === 0 ? 1 : share;
  const total = (): number => [current, ...old].reduce((sum, each) => sum + replicasOf(each), 0);
  if (replicasOf(current) > replicas) {
    scale(root, current, replicas, work);
  } else if (replicasOf(current) < replicas) {
    const room = Math.max(0, replicas + surge - total());
    const wanted = old.every((each) => replicasOf(each) === 0)
      ? replicas
      : Math.min(replicas, replicasOf(current) + room);
    scale(root, current, wanted, work);
  }
  const availableOf = (record: WorkloadRecord): number =>
    settlePods(record, work).filter(
      (pod) => pod.progress.end === undefined && isAvailable(pod, minReadySeconds, work),
    ).length;
  const ofCurrent = Math.min(availableOf(current), replicasOf(current));
  const available = old.map((each) => Math.min(availableOf(each), replicasOf(each)));
  const least = replicas - unavailable;
  // What is not available serves nobody: it may go as long as enough pods are wanted altogether.
  let spare = total() - least - (replicasOf(current) - ofCurrent);
  for (const [index, each] of old.entries()) {
    const gone = Math.min(Math.max(0, spare), replicasOf(each) - available[index]!);
    scale(root, each, replicasOf(each) - gone, work);
    spare -= gone;
  }
  let surplus = ofCurrent + available.reduce((sum, count) => sum + count, 0) - least;
  for (const [index, each] of old.entries()) {
    const gone = Math.min(Math.max(0, surplus), Math.max(0, spare), available[index]!, replicasOf(each));
    scale(root, each, replicasOf(each) - gone, work);
    surplus -= gone;
    spare -= gone;
  }
}
