/**
 * Whether a node can take a pod: pure, in the kubelet's order and words.
 *
 * In: the pod, the claims of the active pods, and the capacity of the node. Out: admitted, or the reason and
 * message for the pod's status. It assumes that pods that ran before the agent started are not judged again:
 * a running pod is never rejected.
 *
 * Source: https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/ and the kubelet's
 * admission handlers.
 *
 * @module
 */
import { type NodePod } from '#kube/pod/node-pod.js';
import { computeOtherRequests, computePodRequests, isExtendedResource } from '#kube/pod/pod-requests.js';
import { hostPortsOf } from './host-ports.js';
import { type NodeClaims } from './node-claims.js';

/** What all pods together may use. */
export interface NodeCapacity {
  /** Maximum number of pods. */
  readonly pods: number;
  readonly cpuMilli: bigint;
  readonly memoryBytes: bigint;
  /** Every other resource, in bytes or pieces, by name. */
  readonly others: ReadonlyMap<string, bigint>;
}

/** What a pod requests and the node cannot give any more. */
export interface Shortage {
  /** `pods`, `cpu` (in thousandths), `memory`, `ephemeral-storage` … */
  readonly resource: string;
  readonly requested: bigint;
  readonly used: bigint;
  readonly capacity: bigint;
}

/** The answer; `reason` and `message` are for the status of a pod that is not admitted. */
export type Admission = { readonly admit: true } | NotAdmitted;

/** See {@link Admission}. */
export interface NotAdmitted {
  readonly admit: false;
  readonly reason: string;
  readonly message: string;
  /** Everything that the node is short of, if only that keeps the pod away. */
  readonly shortages?: readonly Shortage[];
}

const ADMITTED: Admission = { admit: true };

/** `active`: the claims of every other admitted pod that is not finished. */
export function admitPod(
  pod: NodePod,
  active: Pick<NodeClaims, 'pods' | 'requests' | 'requested' | 'collides'>,
  capacity: NodeCapacity,
): Admission {
  const shortages = findShortages(pod, active, capacity);
  const hasPorts = !hostPortsOf(pod).some((port) => active.collides(port));
  const [first] = shortages;
  if (first !== undefined) return { ...outOf(first), ...(hasPorts && { shortages }) };
  if (hasPorts) return ADMITTED;
  return {
    admit: false,
    reason: 'NodePorts',
    message:
      "Pod was rejected: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
  };
}

/**
 * Everything that the node has too little of for the pod, in the kubelet's order; only what the pod requests.
 * Pure.
 */
export function findShortages(
  { spec }: Pick<NodePod, 'spec'>,
  active: Pick<NodeClaims, 'pods' | 'requests' | 'requested'>,
  capacity: NodeCapacity,
): readonly Shortage[] {
  const { cpuMilli, memoryBytes } = computePodRequests(spec);
  const used = active.requests;
  const asked: readonly Shortage[] = [
    { resource: 'pods', requested: 1n, used: BigInt(active.pods), capacity: BigInt(capacity.pods) },
    { resource: 'cpu', requested: cpuMilli, used: used.cpuMilli, capacity: capacity.cpuMilli },
    { resource: 'memory', requested: memoryBytes, used: used.memoryBytes, capacity: capacity.memoryBytes },
    ...[...computeOtherRequests(spec)].flatMap(([resource, requested]): Shortage[] => {
      const all = capacity.others.get(resource);
      // A resource that the node does not have belongs to the cluster, and the scheduler counts it.
      if (all === undefined && isExtendedResource(resource)) return [];
      return [{ resource, requested, used: active.requested(resource), capacity: all ?? 0n }];
    }),
  ];
  return asked.filter((each) => each.requested > 0n && each.used + each.requested > each.capacity);
}

/** Why an edited running pod cannot have the resources that it requests now. */
export interface ResizeObstacle {
  /** `Infeasible`: not even with the node to itself; otherwise possible later: `OutOfcpu`, `OutOfmemory`. */
  readonly reason: string;
  readonly message: string;
}

/**
 * Whether the node has what a running pod requests in addition after an edit. Pure.
 *
 * `active` are the claims of all other pods. Resources that do not grow stay as they are.
 */
export function findResizeObstacle(
  before: NodePod,
  after: NodePod,
  active: Pick<NodeClaims, 'requests'>,
  capacity: Pick<NodeCapacity, 'cpuMilli' | 'memoryBytes'>,
): ResizeObstacle | undefined {
  const had = computePodRequests(before.spec);
  const wanted = computePodRequests(after.spec);
  const growing = (
    [
      ['cpu', 'cpuMilli'],
      ['memory', 'memoryBytes'],
    ] as const
  ).filter(([, amount]) => wanted[amount] > had[amount]);
  for (const [resource, amount] of growing) {
    if (wanted[amount] <= capacity[amount]) continue;
    const amounts = `requested: ${wanted[amount]}, capacity: ${capacity[amount]}`;
    const message = `Node didn't have enough capacity: ${resource}, ${amounts}`;
    return { reason: 'Infeasible', message };
  }
  for (const [resource, amount] of growing) {
    const used = active.requests[amount];
    if (used + wanted[amount] <= capacity[amount]) continue;
    return {
      reason: `OutOf${resource}`,
      message: tooLittle({ resource, requested: wanted[amount], used, capacity: capacity[amount] }),
    };
  }
  return undefined;
}

function outOf(shortage: Shortage): NotAdmitted {
  const message = `Pod was rejected: ${tooLittle(shortage)}`;
  return { admit: false, reason: `OutOf${shortage.resource}`, message };
}

function tooLittle({ resource, requested, used, capacity }: Shortage): string {
  const amounts = `requested: ${requested}, used: ${used}, capacity: ${capacity}`;
  return `Node didn't have enough resource: ${resource}, ${amounts}`;
}
