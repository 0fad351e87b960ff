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
 * container with the sidecars that started before it. Pure. A limit without a request counts as one.
 *
 * Source: https://kubernetes.io/docs/concepts/workloads/pods/init-containers/#resource-sharing-within-containers
 */
export function computePodRequests({ containers, initContainers = [] }: PodSpec): PodRequests {
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
  const textOf = (name: string): string => resources?.requests?.[name] ?? resources?.limits?.[name] ?? '0';
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
