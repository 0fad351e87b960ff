import { type NodePod } from './node-pod.js';
import { type Pod } from './pod.js';
import { priorityOf } from './pod-priority.js';
import { isStaticPod } from './static-pod.js';

/** Pods are critical from this priority on: that of `system-cluster-critical`. */
const CRITICAL = 2_000_000_000;

/**
 * Whether the node needs the pod to work properly: a static pod, or one with one of the highest priorities.
 * Pure.
 *
 * Source: https://kubernetes.io/docs/tasks/administer-cluster/guaranteed-scheduling-critical-addon-pods/
 */
export function isCriticalPod(pod: NodePod): boolean {
  return isStaticPod(pod) || hasCriticalPriority(pod);
}

/** Whether a pod has one of the highest priorities. Pure. */
export function hasCriticalPriority(pod: Pod): boolean {
  return (priorityOf(pod) ?? 0) >= CRITICAL;
}
