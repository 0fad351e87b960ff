import { type Container, type ResourceList } from '../container/container.js';
import { type PodSpec } from './pod.js';
import { podLevelResources } from './pod-level-resources.js';
import { getQuantity } from '../fields/quantity.js';
import { type PodQosClass } from './v1-pod-status.js';

/** The only resources that determine the class. */
const COMPUTE_RESOURCES = ['cpu', 'memory'] as const;

/**
 * The quality of service class of a pod, by Kubernetes' rule. Pure; requires defaults (a limit is a request,
 * too).
 *
 * Guaranteed: every container has limits for cpu and memory and equal requests. BestEffort: no container has
 * any. Burstable: all others. Amounts of 0 count as missing. A pod with resources of its own is judged by those
 * alone.
 */
export function computePodQos(spec: PodSpec): PodQosClass {
  const whole = podLevelResources(spec);
  const all =
    whole === undefined ? [...(spec.initContainers ?? []), ...spec.containers] : [{ resources: whole }];
  if (all.every(asksForNothing)) return 'BestEffort';
  return all.every(isGuaranteed) ? 'Guaranteed' : 'Burstable';
}

function asksForNothing({ resources = {} }: Pick<Container, 'resources'>): boolean {
  return COMPUTE_RESOURCES.every(
    (name) => amountOf(resources.limits, name) === 0n && amountOf(resources.requests, name) === 0n,
  );
}

function isGuaranteed({ resources = {} }: Pick<Container, 'resources'>): boolean {
  return COMPUTE_RESOURCES.every((name) => {
    const limit = amountOf(resources.limits, name);
    return limit > 0n && limit === amountOf(resources.requests, name);
  });
}

function amountOf(list: ResourceList | undefined, name: string): bigint {
  const text = list?.[name];
  return text === undefined ? 0n : getQuantity(text).nanos;
}
