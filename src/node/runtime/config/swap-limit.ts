import { type Container } from '#kube/container/container.js';
import { hasCriticalPriority } from '#kube/pod/critical-pod.js';
import { computePodQos } from '#kube/pod/pod-qos.js';
import { type Pod } from '#kube/pod/pod.js';
import { amountOf } from './quality-of-service.js';

/** What a node has of swap, and which containers may use it. */
export interface SwapFacts {
  /** With LimitedSwap burstable containers get their share; otherwise nobody swaps. */
  readonly isLimited: boolean;
  readonly capacityBytes: bigint;
}

/**
 * How many bytes of swap a container may use; 0 for none. Pure.
 *
 * With LimitedSwap a container gets the share of the node's swap that its request is of the node's memory, if its pod is burstable and
 * not of a critical priority, and its request is less than its limit. Unlike for a kubelet a pod of a manifest is not critical as such:
 * without a control plane all pods are of manifests.
 *
 * Source: KEP-2400, and https://kubernetes.io/docs/concepts/cluster-administration/swap-memory-management/
 */
export function computeSwapLimit(
  pod: Pod,
  container: Container,
  { swap, memoryCapacityBytes }: { readonly swap: SwapFacts; readonly memoryCapacityBytes: bigint },
): bigint {
  const request = amountOf(container, 'requests', 'memory');
  const isElastic = request > 0n && request !== amountOf(container, 'limits', 'memory');
  const maySwap =
    swap.isLimited && isElastic && computePodQos(pod.spec) === 'Burstable' && !hasCriticalPriority(pod);
  if (!maySwap || memoryCapacityBytes === 0n) return 0n;
  const share = (request * swap.capacityBytes) / memoryCapacityBytes;
  return share > swap.capacityBytes ? swap.capacityBytes : share;
}
