import { type Container } from './container.js';
import { type PodSpec } from './pod.js';
import { findQuantity, toMilliUnits, toWholeUnits } from './quantity.js';

/** What a pod asks for. */
export interface PodRequests {
  readonly cpuMilli: bigint;
  readonly memoryBytes: bigint;
}

const NOTHING: PodRequests = { cpuMilli: 0n, memoryBytes: 0n };

/**
 * What a pod has to be given at the same time at most: its regular containers and all its sidecars, or an init
 * container with the sidecars that started before it. Pure. A limit without a request counts as one. What the pod costs
 * beside its containers is added.
 *
 * Source: https://kubernetes.io/docs/concepts/workloads/pods/init-containers/#resource-sharing-within-containers
 * and https://kubernetes.io/docs/concepts/scheduling-eviction/pod-overhead/
 */
export function computePodRequests(spec: PodSpec): PodRequests {
  return add(computeContainerRequests(spec), podOverhead(spec));
}

/** What a pod costs beside its containers. Pure. */
export function podOverhead({ overhead }: Pick<PodSpec, 'overhead'>): PodRequests {
  return amountsOf((name) => overhead?.[name] ?? '0');
}

/** The same of its containers alone. Pure. */
export function computeContainerRequests({
  containers,
  initContainers = [],
}: Pick<PodSpec, 'containers' | 'initContainers'>): PodRequests {
  let sidecars = NOTHING;
  let mostAtInit = NOTHING;
  for (const container of initContainers) {
    const own = requestsOf(container);
    const isSidecar = container.restartPolicy === 'Always';
    mostAtInit = larger(mostAtInit, add(sidecars, own));
    if (isSidecar) sidecars = add(sidecars, own);
  }
  const running = containers.reduce((sum, container) => add(sum, requestsOf(container)), sidecars);
  return larger(running, mostAtInit);
}

function requestsOf({ resources }: Container): PodRequests {
  return amountsOf((name) => resources?.requests?.[name] ?? resources?.limits?.[name] ?? '0');
}

function amountsOf(textOf: (name: string) => string): PodRequests {
  const cpu = findQuantity(textOf('cpu'));
  const memory = findQuantity(textOf('memory'));
  return {
    cpuMilli: cpu === undefined ? 0n : toMilliUnits(cpu),
    memoryBytes: memory === undefined ? 0n : toWholeUnits(memory),
  };
}

function add(one: PodRequests, other: PodRequests): PodRequests {
  return {
    cpuMilli: one.cpuMilli + other.cpuMilli,
    memoryBytes: one.memoryBytes + other.memoryBytes,
  };
}

function larger(one: PodRequests, other: PodRequests): PodRequests {
  const max = (a: bigint, b: bigint): bigint => (a > b ? a : b);
  return {
    cpuMilli: max(one.cpuMilli, other.cpuMilli),
    memoryBytes: max(one.memoryBytes, other.memoryBytes),
  };
}
