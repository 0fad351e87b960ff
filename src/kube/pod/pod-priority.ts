import { type NodePod } from './node-pod.js';

/**
 * The priority classes that Kubernetes itself defines.
 *
 * Other classes are objects of an API server, which writes their number into the pod.
 *
 * Source: https://kubernetes.io/docs/tasks/administer-cluster/guaranteed-scheduling-critical-addon-pods/
 */
const SYSTEM_CLASSES: Readonly<Record<string, number>> = {
  'system-cluster-critical': 2_000_000_000,
  'system-node-critical': 2_000_001_000,
};

/** The priority of one of Kubernetes' own classes; undefined for any other name. Pure. */
export function priorityOfClass(name: string | undefined): number | undefined {
  return name !== undefined && Object.hasOwn(SYSTEM_CLASSES, name) ? SYSTEM_CLASSES[name] : undefined;
}

/** The priority that the API server wrote, or that of its class; undefined if neither is known. Pure. */
export function priorityOf({ spec }: Pick<NodePod, 'spec'>): number | undefined {
  return spec.priority ?? priorityOfClass(spec.priorityClassName);
}
