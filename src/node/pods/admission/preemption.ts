/**
 * Which pods have to go to make room for a critical pod, as a kubelet chooses them.
 *
 * In: what the node is short of, and the pods that may go. Out: as few pods as suffice, of the lowest QoS
 * class that suffices; of two equally good ones, the one that requests less. Pure.
 *
 * Source: https://kubernetes.io/docs/tasks/administer-cluster/guaranteed-scheduling-critical-addon-pods/
 *
 * @module
 */
import { isCriticalPod } from '#kube/pod/critical-pod.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { priorityOf } from '#kube/pod/pod-priority.js';
import { computePodQos } from '#kube/pod/pod-qos.js';
import { computeOtherRequests, computePodRequests } from '#kube/pod/pod-requests.js';
import { isClusterPod } from '#kube/pod/static-pod.js';
import { type PodQosClass } from '#kube/pod/v1-pod-status.js';
import { type Shortage } from './admit-pod.js';

/** How much of each resource has to be freed. */
type Needs = ReadonlyMap<string, bigint>;

/**
 * Whether a pod may be ended to make room for a critical one.
 *
 * Only pods of an API server may: they are recreated elsewhere, while a static manifest belongs to this node
 * alone.
 */
export function mayPreempt(critical: NodePod, other: NodePod): boolean {
  if (!isClusterPod(other) || !isCriticalPod(critical)) return false;
  if (!isCriticalPod(other)) return true;
  const [own, others] = [priorityOf(critical), priorityOf(other)];
  return own !== undefined && others !== undefined && own > others;
}

/** What has to be freed beyond what `leaving` free anyway; empty when that is enough. */
export function computeNeeds(shortages: readonly Shortage[], leaving: readonly NodePod[]): Needs {
  const missing = shortages.map(({ resource, requested, used, capacity }): [string, bigint] => [
    resource,
    requested - (capacity - used),
  ]);
  return subtract(new Map(missing), leaving);
}

/** Undefined when not even all of them would suffice. */
export function chooseVictims(pods: readonly NodePod[], needs: Needs): readonly NodePod[] | undefined {
  if (subtract(needs, pods).size > 0) return undefined;
  const ofClass = (wanted: PodQosClass): NodePod[] =>
    pods.filter(({ spec }) => computePodQos(spec) === wanted);
  const [lowest, middle, highest] = [ofClass('BestEffort'), ofClass('Burstable'), ofClass('Guaranteed')];
  // From each class, what is missing when all lower ones go.
  const guaranteed = cover(highest, subtract(needs, [...lowest, ...middle]));
  const burstable = cover(middle, subtract(needs, [...lowest, ...guaranteed]));
  const bestEffort = cover(lowest, subtract(needs, [...burstable, ...guaranteed]));
  return [...bestEffort, ...burstable, ...guaranteed];
}

/** A pod's request for a resource, in the unit of a {@link Shortage}. */
export function amountOf({ spec }: NodePod, resource: string): bigint {
  if (resource === 'pods') return 1n;
  if (resource === 'cpu') return computePodRequests(spec).cpuMilli;
  if (resource === 'memory') return computePodRequests(spec).memoryBytes;
  return computeOtherRequests(spec).get(resource) ?? 0n;
}

function subtract(needs: Needs, pods: readonly NodePod[]): Needs {
  const left = [...needs].map(([resource, amount]): [string, bigint] => [
    resource,
    pods.reduce((rest, pod) => rest - amountOf(pod, resource), amount),
  ]);
  return new Map(left.filter(([, amount]) => amount > 0n));
}

/** Picks pods one by one, each time the one that leaves least uncovered. Together they suffice. */
function cover(pods: readonly NodePod[], needs: Needs): readonly NodePod[] {
  const chosen: NodePod[] = [];
  const left = new Set(pods);
  for (let missing = needs; missing.size > 0; missing = subtract(missing, chosen.slice(-1))) {
    const [best] = [...left].sort(
      (one, other) => distance(one, missing) - distance(other, missing) || compareSize(one, other),
    );
    if (best === undefined) break;
    left.delete(best);
    chosen.push(best);
  }
  return chosen;
}

/** How much stays uncovered, summed over each resource's share of what is needed. */
function distance(pod: NodePod, needs: Needs): number {
  return [...needs].reduce((sum, [resource, needed]) => {
    const rest = needed - amountOf(pod, resource);
    return rest > 0n ? sum + (Number(rest) / Number(needed)) ** 2 : sum;
  }, 0);
}

function compareSize({ spec: one }: NodePod, { spec: other }: NodePod): number {
  const [first, second] = [computePodRequests(one), computePodRequests(other)];
  const compare = (a: bigint, b: bigint): number => (a < b ? -1 : a > b ? 1 : 0);
  return compare(first.memoryBytes, second.memoryBytes) || compare(first.cpuMilli, second.cpuMilli);
}
