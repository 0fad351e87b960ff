/**
 * The order in which pods are evicted, as in a kubelet. Pure.
 *
 * First pods above their requests, then pods of low priority, then those that exceed their requests most.
 * Process ids cannot be requested: by priority, then by their number. A pod with unknown usage goes before
 * all others of its kind, as it may be the cause.
 *
 * Source:
 * https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/#pod-selection-for-kubelet-eviction
 *
 * @module
 */
import { type EvictionSignal } from '#kube/node/eviction-thresholds.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { priorityOf } from '#kube/pod/pod-priority.js';
import { type PodUse } from '#kube/pod/pod-use.js';
import { resourceOf } from './eviction-rules.js';
import { consumptionOf, type DiskParts, requestOf } from './pod-consumption.js';

/** The first one is evicted first. Pods of equal rank keep their order. */
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

/** Inputs of {@link rankPods}. */
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
  /** Usage above the request; negative when below. */
  readonly beyond: number;
}

function compareRanks(one: Rank, other: Rank): number {
  if (one.exceeds !== other.exceeds) return one.exceeds ? -1 : 1;
  if (one.priority !== other.priority) return one.priority - other.priority;
  // Two pods with unknown usage are equal.
  return one.beyond === other.beyond ? 0 : other.beyond - one.beyond;
}
