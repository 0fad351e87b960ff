import { DEFAULT_GRACE_SECONDS } from '#kube/pod/default-grace.js';
import { type NodePod } from '#kube/pod/node-pod.js';

/** What a grace period follows from; in seconds. */
export interface GraceFacts {
  /** What holds already; undefined before the first kill. */
  readonly current: number | undefined;
  /** The pod as last wanted; undefined when only the runtime knows it. */
  readonly pod: NodePod | undefined;
  /** What this kill asks for; undefined when it leaves it to the pod. */
  readonly wanted: number | undefined;
}

/**
 * The grace period for a pod that is to end, in seconds: the shortest that anybody asked for, at least 1. Pure.
 *
 * It never grows. Only when nobody asked for one does the pod's own spec count; an explicit 0 is an answer, and means 1:
 * a container must get the chance to be seen ending. Undefined for a pod that only the runtime knows, as long as nobody
 * asked: the annotations of its containers say it then.
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
