import { type NodePod } from './node-pod.js';
import { priorityOf } from './pod-priority.js';
import { isStaticPod } from './static-pod.js';

/** From here on a pod is critical: the priority of `system-cluster-critical`. */
const CRITICAL = 2_000_000_000;

/**
 * Whether the node is not what it should be without the pod: a static one, or one of the highest priorities. Pure.
 *
 * Source: https://kubernetes.io/docs/tasks/administer-cluster/guaranteed-scheduling-critical-addon-pods/
 */
export function isCriticalPod(pod: NodePod): boolean {
  return isStaticPod(pod) || (priorityOf(pod) ?? 0) >= CRITICAL;
}
