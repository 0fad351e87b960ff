import { leastOf } from '#kube/node/eviction-thresholds.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type ContainerUse, type PodUse } from '#kube/pod/pod-use.js';
import { formatBytes, wholeUnitsOf } from '#kube/fields/quantity.js';
import { resourceOf, type StarvedResource } from './eviction-rules.js';
import { type MetThreshold } from './met-thresholds.js';

/**
 * Why a pod is evicted, in the kubelet's words: the shortage, and which containers used more than they
 * requested. Pure.
 *
 * Each sentence ends with a space, as in the kubelet.
 */
export function toEvictionMessage(
  { spec }: Pick<NodePod, 'spec'>,
  use: PodUse | undefined,
  { rule, supply }: MetThreshold,
): string {
  const resource = resourceOf(rule.signal);
  const { available, capacity } = supply;
  const threshold = leastOf(rule, capacity);
  const sentences = [
    `The node was low on resource: ${resource}. `,
    `Threshold quantity: ${formatBytes(threshold)}, available: ${formatBytes(available)}. `,
  ];
  for (const container of [...spec.containers, ...(spec.initContainers ?? [])]) {
    const own = use?.containers.find(({ name }) => name === container.name);
    const used = own && usedBy(own, resource);
    if (used === undefined) continue;
    const asked = wholeUnitsOf(container.resources?.requests?.[resource] ?? '0');
    if (used <= asked) continue;
    const amounts = `was using ${formatBytes(used)}, request is ${formatBytes(asked)}`;
    sentences.push(`Container ${container.name} ${amounts}, has larger consumption of ${resource}. `);
  }
  return sentences.join('');
}

function usedBy(
  { memoryBytes, writtenBytes = 0, logBytes = 0, fileBytes = 0 }: ContainerUse,
  resource: StarvedResource,
): bigint | undefined {
  if (resource === 'memory') return memoryBytes === undefined ? undefined : BigInt(memoryBytes);
  return resource === 'ephemeral-storage' ? BigInt(writtenBytes + logBytes + fileBytes) : undefined;
}
