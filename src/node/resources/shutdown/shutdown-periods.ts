import { type ShutdownPeriod } from '#kube/node/shutdown-words.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { priorityOf } from '#kube/pod/pod-priority.js';
import { type ShutdownOptions } from '../../options/shutdown-options.js';

/** Pods that end together, and the time that they have. */
export interface ShutdownGroup extends ShutdownPeriod {
  readonly pods: readonly NodePod[];
}

/** The priority of `system-cluster-critical`. */
const CRITICAL = 2_000_000_000;

/** The periods in the order in which pods end: the lowest priority first. Empty if pods are not to be ended. Pure. */
export function toShutdownPeriods(written: ShutdownOptions): readonly ShutdownPeriod[] {
  const { shutdownGracePeriodMs: all, shutdownGracePeriodCriticalPodsMs: critical } = written;
  const byPriority = written.shutdownGracePeriodByPodPriority;
  if (byPriority.length > 0) return byPriority.toSorted((one, other) => one.priority - other.priority);
  if (all === 0) return [];
  return [
    { priority: 0, shutdownGracePeriodSeconds: Math.floor((all - critical) / 1_000) },
    { priority: CRITICAL, shutdownGracePeriodSeconds: Math.floor(critical / 1_000) },
  ];
}

/** The time for all pods, in seconds. Pure. */
export function sumPeriods(periods: readonly ShutdownPeriod[]): number {
  return periods.reduce((sum, { shutdownGracePeriodSeconds: seconds }) => sum + seconds, 0);
}

/**
 * Assigns each pod to the period with the highest priority that is not above its own, or to the lowest one. Pure.
 *
 * Periods without pods are left out, so nothing waits for them.
 */
export function groupByPriority(
  periods: readonly ShutdownPeriod[],
  pods: readonly NodePod[],
): readonly ShutdownGroup[] {
  const groups = periods.map((period) => ({ ...period, pods: [] as NodePod[] }));
  for (const pod of pods) {
    const priority = priorityOf(pod) ?? 0;
    const own = groups.findLast((group) => group.priority <= priority) ?? groups[0];
    own?.pods.push(pod);
  }
  return groups.filter((group) => group.pods.length > 0);
}
