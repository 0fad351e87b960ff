import { type CriClient } from '#watch';
import { type PodRef } from '#kube/pod/pod-ref.js';

/**
 * Asks the runtime how many bytes of memory a container uses, as its limit counts them, without reclaimable
 * memory.
 *
 * Undefined where the runtime does not answer, or does not know.
 */
export function memoryUsageOf(
  client: Pick<CriClient, 'containerStats'>,
): (pod: PodRef, containerId: string, signal: AbortSignal) => Promise<bigint | undefined> {
  return async (pod, containerId, signal) => {
    const answer = await client.containerStats({ containerId }, { signal, pod }).catch(() => undefined);
    const { workingSetBytes, usageBytes } = answer?.stats?.memory ?? {};
    return workingSetBytes?.value ?? usageBytes?.value;
  };
}
