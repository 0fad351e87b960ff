/**
 * In which order pods are evicted: pure, as a kubelet does it.
 *
 * First those that use more than they have asked for, then those of low priority, then those that are furthest beyond what they
 * have asked for. Of process ids nobody can ask for any: by priority, then by their number. Of whom nothing is known goes
 * before all others of its kind, as it may be the cause.
 *
 * Source: https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/#pod-selection-for-kubelet-eviction
 *
 * @module
 */
import { type EvictionSignal } from '#kube/node/eviction-thresholds.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { priorityOf } from '#kube/pod/pod-priority.js';
import { type PodUse } from '#kube/pod/pod-use.js';
import { resourceOf } from './eviction-rules.js';
import { consumptionOf, type DiskParts, requestOf } from './pod-consumption.js';

/** The first one goes first. Pods of one rank stay as they were. */
export function rankPods(pods: readonly NodePod[], { signal, uses, parts }: RankInputs): readonly NodePod[] {
  const asksForIt = resourceOf(signal) !== 'pids';
  const ranks = pods.map((pod): Rank => {
    const use = uses.get(pod.metadata.uid);
    const used = use && consumptionOf(signal, use, parts);
    const beyond = used === undefined ? Infinity : used - requestOf(signal, pod);
    return { pod, exceeds: asksForIt && beyond > 0, priority: priorityOf(pod) ?? 0, beyond };
  });
  return ranks.sort(compareRanks).map(({ pod }) => pod);
}

/** What {@link rankPods} looks at. */
export interface RankInputs {
  /** What is short. */
  readonly signal: EvictionSignal;
  /** By uid of the pod. */
  readonly uses: ReadonlyMap<string, PodUse>;
  readonly parts: DiskParts;
}

interface Rank {
  readonly pod: NodePod;
  readonly exceeds: boolean;
  readonly priority: number;
  /** More than was asked for; below 0 when it is less. */
  readonly beyond: number;
}

function compareRanks(one: Rank, other: Rank): number {
  if (one.exceeds !== other.exceeds) return one.exceeds ? -1 : 1;
  if (one.priority !== other.priority) return one.priority - other.priority;
  // Two of which nothing is known have no difference.
  return one.beyond === other.beyond ? 0 : other.beyond - one.beyond;
}
