import { type NodePod } from '#kube/pod/node-pod.js';
import { type ObservedPod } from '#watch';
import { isRunning } from './housekeeping-owner.js';

/**
 * Orders pods that were just added: partly running ones first, then running ones, then the others. Pure.
 *
 * Each group stays in the order given. Running pods already have their place on the node, and new ones are
 * judged by what is left. An agent that starts on a full node gets all of its pods at once: those in which
 * something has died must not wait for the healthy ones. `findObserved` returns a pod as last listed.
 */
export function orderAdditions(
  pods: readonly NodePod[],
  findObserved: (uid: string) => ObservedPod | undefined,
): NodePod[] {
  const [inPart, whole, others]: [NodePod[], NodePod[], NodePod[]] = [[], [], []];
  for (const pod of pods) {
    const observed = findObserved(pod.metadata.uid);
    if (observed === undefined || !isRunning(observed)) others.push(pod);
    else if (runsWhole(pod, observed)) whole.push(pod);
    else inPart.push(pod);
  }
  return [...inPart, ...whole, ...others];
}

/** Ignores init containers: in a healthy pod most of them have ended. */
function runsWhole({ spec }: NodePod, { containers }: ObservedPod): boolean {
  const running = new Set(containers.filter(({ state }) => state === 'running').map(({ name }) => name));
  return spec.containers.every(({ name }) => running.has(name));
}
