/**
 * Whether a node can take a pod: pure, in the kubelet's order and words.
 *
 * In: the pod, what the pods that are active here claim, and what the node has. Out: admitted, or the reason and message that the
 * pod's status then carries. It assumes that pods which ran before the agent started are not asked about again: what
 * already runs is never rejected.
 *
 * Source: https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/ and the kubelet's admission
 * handlers.
 *
 * @module
 */
import { type NodePod } from '../model/node-pod.js';
import { computePodRequests } from '../model/pod-requests.js';

import { hostPortsOf } from './host-ports.js';
import { type NodeClaims } from './node-claims.js';

/** What pods may use together. */
export interface NodeCapacity {
  /** How many at once. */
  readonly pods: number;
  readonly cpuMilli: bigint;
  readonly memoryBytes: bigint;
}

/** The answer; `reason` and `message` are for the status of a pod that is not admitted. */
export type Admission =
  { readonly admit: true } | { readonly admit: false; readonly reason: string; readonly message: string };

const ADMITTED: Admission = { admit: true };

/** `active`: of every admitted pod that is not finished, without this one. */
export function admitPod(
  pod: NodePod,
  active: Pick<NodeClaims, 'pods' | 'requests' | 'collides'>,
  capacity: NodeCapacity,
): Admission {
  if (active.pods + 1 > capacity.pods) {
    return outOf('pods', 1n, BigInt(active.pods), BigInt(capacity.pods));
  }
  const wanted = computePodRequests(pod.spec);
  const used = active.requests;
  const { cpuMilli, memoryBytes } = capacity;
  if (wanted.cpuMilli > 0n && used.cpuMilli + wanted.cpuMilli > cpuMilli) {
    return outOf('cpu', wanted.cpuMilli, used.cpuMilli, cpuMilli);
  }
  if (wanted.memoryBytes > 0n && used.memoryBytes + wanted.memoryBytes > memoryBytes) {
    return outOf('memory', wanted.memoryBytes, used.memoryBytes, memoryBytes);
  }
  if (hostPortsOf(pod).some((port) => active.collides(port))) {
    return {
      admit: false,
      reason: 'NodePorts',
      message:
        "Pod was rejected: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
    };
  }
  return ADMITTED;
}

/** Why an edited pod that runs cannot have the resources that it asks for now. */
export interface ResizeObstacle {
  /** `Infeasible`: not even if it had the node for itself; else it may have them later: `OutOfcpu`, `OutOfmemory`. */
  readonly reason: string;
  readonly message: string;
}

/**
 * Whether what a pod that runs asks for more after an edit is there: pure. `active` is of every other pod; of what it
 * does not ask for more it keeps what it has.
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
      message: tooLittle(resource, wanted[amount], used, capacity[amount]),
    };
  }
  return undefined;
}

function outOf(resource: string, requested: bigint, used: bigint, capacity: bigint): Admission {
  const message = `Pod was rejected: ${tooLittle(resource, requested, used, capacity)}`;
  return { admit: false, reason: `OutOf${resource}`, message };
}

function tooLittle(resource: string, requested: bigint, used: bigint, capacity: bigint): string {
  const amounts = `requested: ${requested}, used: ${used}, capacity: ${capacity}`;
  return `Node didn't have enough resource: ${resource}, ${amounts}`;
}
