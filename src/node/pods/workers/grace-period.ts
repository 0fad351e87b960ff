import { DEFAULT_GRACE_SECONDS } from '#kube/pod/default-grace.js';
import { type NodePod } from '#kube/pod/node-pod.js';

/** What a grace period is computed from; in seconds. */
export interface GraceFacts {
  /** The present grace period; undefined before the first kill. */
  readonly current: number | undefined;
  /** The pod as last wanted; undefined when only the runtime knows it. */
  readonly pod: NodePod | undefined;
  /** What this kill asks for; undefined when it leaves that to the pod. */
  readonly wanted: number | undefined;
}

/**
 * The grace period for a pod that is to end, in seconds: the shortest one requested, at least 1. Pure.
 *
 * It never grows. The pod's own spec counts only when nobody asked for one. An explicit 0 is a request, and
 * means 1, so that a container can be seen ending. Undefined for a pod that only the runtime knows while
 * nobody has asked: the annotations of its containers apply then.
 *
 * Source: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination
 */
export function computeGracePeriod({ current, pod, wanted }: GraceFacts): number | undefined {
  const asked = [current, pod?.metadata.deletionGracePeriodSeconds, wanted].filter(
    (seconds) => seconds !== undefined,
  );
  if (asked.length > 0) return Math.max(1, Math.min(...asked));
  if (pod === undefined) return undefined;
  return Math.max(1, pod.spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS);
}
