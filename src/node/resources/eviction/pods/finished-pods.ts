import { type NodePod } from '#kube/pod/node-pod.js';
import { isClusterPod } from '#kube/pod/static-pod.js';
import { isTerminalPhase, type V1PodStatus } from '#kube/pod/v1-pod-status.js';
import { type EndedPods } from '../../../status/ended-pods.js';
import { type Clock } from '#base/time/clock.js';
import { type PodWorkers } from '../../../pods/workers/pod-workers.js';

/** Options of {@link toIsOver}. */
export interface FinishedPodsOptions {
  readonly desired: { find(uid: string): NodePod | undefined };
  readonly workers: Pick<PodWorkers, 'isFinished'>;
  readonly endedPods: Pick<EndedPods, 'isKept'>;
  /** The API server's status of a pod; undefined when it has none. */
  readonly findReported: (podUid: string) => V1PodStatus | undefined;
}

/**
 * Returns a check whether nothing of a pod restarts, whatever happens to its containers.
 *
 * That includes the next agent, which has to know that the pod has ended when its containers no longer show
 * that. A full disk may not have stored it.
 */
export function toIsOver({
  desired,
  workers,
  endedPods,
  findReported,
}: FinishedPodsOptions): (uid: string) => boolean {
  return (uid) => {
    const pod = desired.find(uid);
    if (pod === undefined || !isClusterPod(pod) || !workers.isFinished(uid)) return false;
    const told = findReported(uid);
    return endedPods.isKept(uid) || (told !== undefined && isTerminalPhase(told.phase));
  };
}

/** How often to check whether an ending pod is gone. */
const LOOK_EVERY_MS = 500;

/** Resolves when nothing of a pod runs and its volumes are gone. Rejects with the signal's reason. */
export async function untilFinished(
  uid: string,
  { workers, clock }: { readonly workers: Pick<PodWorkers, 'isFinished' | 'isKnown'>; readonly clock: Clock },
  signal: AbortSignal,
): Promise<void> {
  while (workers.isKnown(uid) && !workers.isFinished(uid)) await clock.sleep(LOOK_EVERY_MS, signal);
}
