import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodUpdateType } from '#kube/pod/pod-update.js';
import { type PodJudge } from './manifests/judge-pod.js';

/** The pods of one source by uid, in its order. */
export type PodSet = ReadonlyMap<string, NodePod>;

/** Pods of one source with the same kind of change. */
export interface PodChange {
  readonly type: PodUpdateType;
  /** Never empty. */
  readonly pods: readonly NodePod[];
}

/** The result of {@link diffPods}. */
export interface PodDifference {
  /** At most one of each type, in the order in which to pass them on: removals first, as they make room. */
  readonly changes: readonly PodChange[];
  /** The known pods after that; an unchanged pod keeps its object. */
  readonly known: PodSet;
}

const ORDER: readonly PodUpdateType[] = ['REMOVE', 'ADD', 'UPDATE', 'DELETE', 'RECONCILE'];

/**
 * The changes that turn the known pods into the wanted ones. Pure.
 *
 * A pod is identified by its uid. One that keeps its uid but changes its name is removed and added, so that
 * no running pod ever changes its name.
 */
export function diffPods(known: PodSet, wanted: PodSet, judge: PodJudge): PodDifference {
  const found = new Map<PodUpdateType, NodePod[]>(ORDER.map((type) => [type, []]));
  const next = new Map<string, NodePod>();
  for (const [uid, pod] of known) {
    const other = wanted.get(uid);
    if (other === undefined || !hasSameName(pod, other)) found.get('REMOVE')!.push(pod);
  }
  for (const [uid, pod] of wanted) {
    const before = known.get(uid);
    const type = before === undefined ? 'ADD' : typeOf(before, pod, judge);
    if (type !== undefined) found.get(type)!.push(pod);
    next.set(uid, type === undefined ? before! : pod);
  }
  const changes = ORDER.map((type) => ({ type, pods: found.get(type)! })).filter(
    ({ pods }) => pods.length > 0,
  );
  return { changes, known: next };
}

/** The uids of a difference, each once. */
export function changedUids({ changes }: Pick<PodDifference, 'changes'>): Set<string> {
  return new Set(changes.flatMap(({ pods }) => pods.map(({ metadata }) => metadata.uid)));
}

function typeOf(before: NodePod, pod: NodePod, judge: PodJudge): PodUpdateType | undefined {
  if (!hasSameName(before, pod)) return 'ADD';
  const verdict = judge(before, pod);
  if (verdict === 'same') return undefined;
  if (verdict === 'reconcile') return 'RECONCILE';
  return pod.metadata.deletionTimestamp === undefined ? 'UPDATE' : 'DELETE';
}

function hasSameName({ metadata: one }: NodePod, { metadata: other }: NodePod): boolean {
  return one.name === other.name && one.namespace === other.namespace;
}
