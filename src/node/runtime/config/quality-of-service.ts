import { type Container } from '#kube/container/container.js';
import { podLevelResources, sumContainers } from '#kube/pod/pod-level-resources.js';
import { computePodQos } from '#kube/pod/pod-qos.js';
import { type Pod, type PodSpec } from '#kube/pod/pod.js';
import { findQuantity, toMilliUnits, toWholeUnits } from '#kube/fields/quantity.js';
import { initKindOf } from '#kube/container/restart-rule.js';

const GUARANTEED_SCORE = -997;
const BEST_EFFORT_SCORE = 1000;
/** Kubernetes' system-node-critical. */
const CRITICAL_PRIORITY = 2_000_001_000;

/**
 * The kernel's oom_score_adj of a container; 1000 is killed first. Pure.
 *
 * A burstable container gets a lower score the more of the node's memory it requests. A sidecar is never
 * killed before the containers that it serves.
 *
 * Source:
 * https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/#node-out-of-memory-behavior
 */
export function computeOomScore(pod: Pod, container: Container, memoryCapacityBytes: bigint): number {
  const { spec } = pod;
  if ((spec.priority ?? 0) >= CRITICAL_PRIORITY || spec.priorityClassName === 'system-node-critical') {
    return GUARANTEED_SCORE;
  }
  const qos = computePodQos(spec);
  if (qos === 'Guaranteed') return GUARANTEED_SCORE;
  if (qos === 'BestEffort') return BEST_EFFORT_SCORE;
  const scoreOf = (each: Container) => burstableScore(each, sharedRequest(spec), memoryCapacityBytes);
  const own = scoreOf(container);
  // A regular container may have the same policy of its own.
  const isInit = spec.initContainers?.some(({ name }) => name === container.name) === true;
  if (!isInit || initKindOf(container) !== 'sidecar') return own;
  return Math.min(own, ...spec.containers.map(scoreOf));
}

/** A pod's total limit for a resource: its own, else the sum; undefined when a container has no limit. */
export function computePodLimit(spec: PodSpec, name: 'cpu' | 'memory'): bigint | undefined {
  const whole = amountOf({ resources: podLevelResources(spec) }, 'limits', name);
  if (whole > 0n) return whole;
  const { containers, initContainers = [] } = spec;
  let sidecars = 0n;
  let mostAtInit = 0n;
  for (const container of initContainers) {
    const limit = amountOf(container, 'limits', name);
    if (limit === 0n) return undefined;
    if (sidecars + limit > mostAtInit) mostAtInit = sidecars + limit;
    if (initKindOf(container) === 'sidecar') sidecars += limit;
  }
  const limits = containers.map((container) => amountOf(container, 'limits', name));
  if (limits.includes(0n)) return undefined;
  const together = limits.reduce((sum, limit) => sum + limit, sidecars);
  return together > mostAtInit ? together : mostAtInit;
}

/** A container's request or limit: millicores of cpu, otherwise whole units; 0n where there is none. */
export function amountOf(
  { resources }: { readonly resources?: Container['resources'] | undefined },
  side: 'limits' | 'requests',
  name: 'cpu' | 'memory',
): bigint {
  const quantity = findQuantity(resources?.[side]?.[name] ?? '0');
  if (quantity === undefined) return 0n;
  return name === 'cpu' ? toMilliUnits(quantity) : toWholeUnits(quantity);
}

/** What of the memory that a pod requests none of its containers does, for each of them. */
function sharedRequest(spec: PodSpec): bigint {
  const whole = amountOf({ resources: podLevelResources(spec) }, 'requests', 'memory');
  if (whole === 0n) return 0n;
  const { containers, initContainers = [] } = spec;
  const sum = sumContainers({ containers, initContainers }, 'requests').get('memory');
  const rest = whole - (sum === undefined ? 0n : toWholeUnits(sum));
  return rest / BigInt(containers.length + initContainers.length);
}

function burstableScore(container: Container, shared: bigint, memoryCapacityBytes: bigint): number {
  const own = amountOf(container, 'requests', 'memory') || amountOf(container, 'limits', 'memory');
  const request = own + shared;
  const score = 1000n - (1000n * request) / (memoryCapacityBytes > 0n ? memoryCapacityBytes : 1n);
  const least = BigInt(1000 + GUARANTEED_SCORE);
  if (score < least) return Number(least);
  return score >= BigInt(BEST_EFFORT_SCORE) ? BEST_EFFORT_SCORE - 1 : Number(score);
}
