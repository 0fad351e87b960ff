import { type Container } from '../container/container.js';
import { type PodSpec } from './pod.js';
import { findQuantity, toMilliUnits, toWholeUnits, wholeUnitsOf } from '../fields/quantity.js';
import { initKindOf } from '../container/restart-rule.js';
import { podLevelResources } from './pod-level-resources.js';

/** The cpu and memory that a pod requests. */
export interface PodRequests {
  readonly cpuMilli: bigint;
  readonly memoryBytes: bigint;
}

const NOTHING: PodRequests = { cpuMilli: 0n, memoryBytes: 0n };
const NO_OTHERS: ReadonlyMap<string, bigint> = new Map();

/**
 * The maximum that a pod needs at the same time. Pure.
 *
 * It is the sum of its regular containers and all its sidecars, or an init container with the sidecars
 * started before it. A limit without a request counts as one. The pod's overhead is added.
 *
 * Source:
 * https://kubernetes.io/docs/concepts/workloads/pods/init-containers/#resource-sharing-within-containers
 * and https://kubernetes.io/docs/concepts/scheduling-eviction/pod-overhead/
 */
export function computePodRequests(spec: PodSpec): PodRequests {
  return add(computeContainerRequests(spec), podOverhead(spec));
}

/** The pod's overhead beside its containers. Pure. */
export function podOverhead({ overhead }: Pick<PodSpec, 'overhead'>): PodRequests {
  return amountsOf((name) => overhead?.[name] ?? '0');
}

/** The requests without the overhead: the pod's own, and of its containers what it does not request itself. Pure. */
export function computeContainerRequests(spec: ContainersOfPod): PodRequests {
  const ofContainers = mostAtOnce(spec, { nothing: NOTHING, of: requestsOf, add, larger });
  const { cpu, memory } = podLevelResources(spec)?.requests ?? {};
  const own = amountsOf((name) => (name === 'cpu' ? cpu : memory) ?? '0');
  return {
    cpuMilli: cpu === undefined ? ofContainers.cpuMilli : own.cpuMilli,
    memoryBytes: memory === undefined ? ofContainers.memoryBytes : own.memoryBytes,
  };
}

/**
 * The requests for every other resource (ephemeral-storage, hugepages-2Mi, example.com/gpu), by name. Pure.
 *
 * Amounts are bytes or pieces. Resources with a request of 0 are left out.
 */
export function computeOtherRequests(spec: PodSpec): ReadonlyMap<string, bigint> {
  const { containers, initContainers = [], overhead = {} } = spec;
  const whole = podLevelResources(spec)?.requests ?? {};
  const names = new Set([...Object.keys(overhead), ...Object.keys(whole)]);
  for (const { resources: { limits = {}, requests = {} } = {} } of [...initContainers, ...containers]) {
    for (const name of [...Object.keys(limits), ...Object.keys(requests)]) names.add(name);
  }
  for (const name of ['cpu', 'memory']) names.delete(name);
  if (names.size === 0) return NO_OTHERS;
  const amounts = [...names].map((name): [string, bigint] => {
    const amount =
      whole[name] === undefined
        ? mostWholeAtOnce(spec, (container) => requestedText(container, name))
        : wholeUnitsOf(whole[name]);
    return [name, amount + wholeUnitsOf(overhead[name] ?? '0')];
  });
  return new Map(amounts.filter(([, amount]) => amount > 0n));
}

/**
 * A pod's limit of such a resource, computed from its containers' limits like the request; undefined if none
 * has one. Pure.
 *
 * The pod's overhead is added, as in a kubelet.
 */
export function computeOtherLimit(spec: PodSpec, name: string): bigint | undefined {
  const { containers, initContainers = [], overhead = {} } = spec;
  const limitOf = ({ resources }: Container): string | undefined => resources?.limits?.[name];
  if (![...initContainers, ...containers].some((each) => limitOf(each) !== undefined)) return undefined;
  const ofContainers = mostWholeAtOnce(spec, (container) => limitOf(container) ?? '0');
  return ofContainers === 0n ? 0n : ofContainers + wholeUnitsOf(overhead[name] ?? '0');
}

/** Whether a resource is not one of Kubernetes' own: `example.com/gpu`. Pure. */
export function isExtendedResource(name: string): boolean {
  return name.includes('/') && !/(^|\.)kubernetes\.io\//.test(name);
}

type ContainersOfPod = Pick<PodSpec, 'containers' | 'initContainers' | 'resources'>;

/** How amounts of one type are combined. */
interface Sum<Amount> {
  readonly nothing: Amount;
  readonly of: (container: Container) => Amount;
  readonly add: (one: Amount, other: Amount) => Amount;
  readonly larger: (one: Amount, other: Amount) => Amount;
}

function mostAtOnce<Amount>(
  { containers, initContainers = [] }: ContainersOfPod,
  { nothing, of, add: sum, larger: max }: Sum<Amount>,
): Amount {
  let sidecars = nothing;
  let mostAtInit = nothing;
  for (const container of initContainers) {
    const own = of(container);
    mostAtInit = max(mostAtInit, sum(sidecars, own));
    if (initKindOf(container) === 'sidecar') sidecars = sum(sidecars, own);
  }
  const running = containers.reduce((all, container) => sum(all, of(container)), sidecars);
  return max(running, mostAtInit);
}

function mostWholeAtOnce(spec: ContainersOfPod, textOf: (container: Container) => string): bigint {
  return mostAtOnce(spec, {
    nothing: 0n,
    of: (container) => wholeUnitsOf(textOf(container)),
    add: (one, other) => one + other,
    larger: (one, other) => (one > other ? one : other),
  });
}

function requestedText({ resources }: Container, name: string): string {
  return resources?.requests?.[name] ?? resources?.limits?.[name] ?? '0';
}

function requestsOf(container: Container): PodRequests {
  return amountsOf((name) => requestedText(container, name));
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
