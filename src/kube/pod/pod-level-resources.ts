/**
 * Resources of a whole pod (`spec.resources`), which its containers share.
 *
 * Source: https://kubernetes.io/docs/tasks/configure-pod-container/assign-pod-level-resources/ and KEP-2837.
 *
 * @module
 */
import { type Container, type ResourceList, type ResourceRequirements } from '../container/container.js';
import { addQuantities, compareQuantities, getQuantity, type Quantity } from '../fields/quantity.js';
import { initKindOf } from '../container/restart-rule.js';
import { type PodSpec } from './pod.js';

/** A pod or a part of one that has resources of its own. */
type WithResources = Pick<PodSpec, 'resources'>;

/** Whether a pod may have a resource as a whole. */
export function isPodLevelResource(name: string): boolean {
  return name === 'cpu' || name === 'memory' || name.startsWith('hugepages-');
}

/** The pod's own resources; undefined where it has none, so that only those of its containers count. Pure. */
export function podLevelResources({ resources }: WithResources): ResourceRequirements | undefined {
  const names = Object.keys({ ...resources?.limits, ...resources?.requests });
  return names.some(isPodLevelResource) ? resources : undefined;
}

/** A container with the pod's limits of cpu and memory in the place of those that it lacks. Pure. */
export function withPodLimits(spec: WithResources, container: Container): Container {
  const { cpu, memory } = podLevelResources(spec)?.limits ?? {};
  const { limits } = container.resources ?? {};
  const own = (name: string): boolean => limits?.[name] !== undefined && getQuantity(limits[name]).nanos > 0n;
  const given = {
    ...(cpu !== undefined && !own('cpu') && { cpu }),
    ...(memory !== undefined && !own('memory') && { memory }),
  };
  if (Object.keys(given).length === 0) return container;
  return { ...container, resources: { ...container.resources, limits: { ...limits, ...given } } };
}

/** What the containers have at most at the same time, of one side, by name. Pure. */
export function sumContainers(
  { containers, initContainers = [] }: Pick<PodSpec, 'containers' | 'initContainers'>,
  side: 'limits' | 'requests',
): ReadonlyMap<string, Quantity> {
  // A limit without a request is one.
  const list = ({ resources = {} }: Container): ResourceList =>
    side === 'limits' ? (resources.limits ?? {}) : { ...resources.limits, ...resources.requests };
  const sidecars = new Map<string, Quantity>();
  const most = new Map<string, Quantity>();
  const add = (to: Map<string, Quantity>, of: ResourceList): void => {
    for (const [name, text] of Object.entries(of)) {
      const [before, amount] = [to.get(name), getQuantity(text)];
      to.set(name, before === undefined ? amount : addQuantities(before, amount));
    }
  };
  const raise = (by: ReadonlyMap<string, Quantity>): void => {
    for (const [name, amount] of by) {
      const before = most.get(name);
      if (before === undefined || compareQuantities(amount, before) > 0) most.set(name, amount);
    }
  };
  for (const container of initContainers) {
    const together = new Map(sidecars);
    add(together, list(container));
    raise(together);
    if (initKindOf(container) === 'sidecar') add(sidecars, list(container));
  }
  for (const container of containers) add(sidecars, list(container));
  raise(sidecars);
  return most;
}
