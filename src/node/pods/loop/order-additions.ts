import { type NodePod } from '#kube/pod/node-pod.js';
import { type ObservedPod } from '#watch';
import { isRunning } from './housekeeping-owner.js';

/**
 * The order in which pods that were just wanted are handled: those that run in part, then those that run, then the
 * others; each in the order given. Who runs already has his place on the node, and who comes new is judged by what is
 * left. Pure.
 *
 * An agent that is started on a full node is given all of its pods at once, and those of which something died meanwhile
 * are not to wait for those that are well. `findObserved`: as looked at last.
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

/** Of init containers nothing is expected: most have ended when all is well. */
function runsWhole({ spec }: NodePod, { containers }: ObservedPod): boolean {
  const running = new Set(containers.filter(({ state }) => state === 'running').map(({ name }) => name));
  return spec.containers.every(({ name }) => running.has(name));
}
