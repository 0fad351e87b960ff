import { type V1PodStatus } from '#kube/pod/v1-pod-status.js';
import { type ProbeMemory } from '../../probes/probe-memory.js';
import { containerIdOf } from '../../api/objects/choose-container.js';

/**
 * Takes what a kubelet had found out of the containers that it left, and told an API server, for what probes here have found
 * out: a pod that is taken over is as ready as it was, and none leaves its services for that.
 */
export function rememberTold(
  memory: Pick<ProbeMemory, 'remember'>,
  podUid: string,
  told: V1PodStatus | undefined,
): void {
  const { initContainerStatuses = [], containerStatuses = [] } = told ?? {};
  for (const { containerID = '', state, ready, started } of [
    ...initContainerStatuses,
    ...containerStatuses,
  ]) {
    if (state.running === undefined) continue;
    const found = { ready, ...(typeof started === 'boolean' ? { started } : {}) };
    memory.remember(podUid, containerIdOf(containerID), found);
  }
}
