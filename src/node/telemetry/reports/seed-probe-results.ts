import { type V1PodStatus } from '#kube/pod/v1-pod-status.js';
import { type ProbeMemory } from '../../probes/probe-memory.js';
import { containerIdOf } from '../../api/objects/choose-container.js';

/**
 * Uses the results that a kubelet reported to an API server as the probes' first findings.
 *
 * An adopted pod is as ready as it was, and no pod leaves its services because of the change of agents.
 */
export function seedProbeResults(
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
