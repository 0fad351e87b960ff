import { isCriticalPod } from '#kube/pod/critical-pod.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { computePodQos } from '#kube/pod/pod-qos.js';
import { type NodePressure } from '../node/compute-node-conditions.js';
import { type NodeRejection, tolerates } from './admit-to-node.js';
import { type NamedApiPod } from './api-pod.js';

/** Which the control plane puts on a node that is short of memory. */
const MEMORY_TAINT = { key: 'node.kubernetes.io/memory-pressure', effect: 'NoSchedule' };

/**
 * Why a node that is short of something does not take a pod; undefined when it does. Pure, in the kubelet's words.
 *
 * Critical pods come in always. While memory alone is short, so does what is not BestEffort, or tolerates it.
 *
 * Source: https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/#node-conditions
 */
export function admitUnderPressure(
  pod: NodePod,
  { spec }: NamedApiPod,
  { memory, disk, pid }: NodePressure,
): NodeRejection | undefined {
  const conditions = [
    ...(memory ? ['MemoryPressure'] : []),
    ...(disk ? ['DiskPressure'] : []),
    ...(pid ? ['PIDPressure'] : []),
  ];
  if (conditions.length === 0 || isCriticalPod(pod)) return undefined;
  if (memory && conditions.length === 1) {
    const isTolerated = spec?.tolerations?.some((each) => tolerates(each, MEMORY_TAINT)) === true;
    if (isTolerated || computePodQos(pod.spec) !== 'BestEffort') return undefined;
  }
  return { reason: 'Evicted', message: `The node had condition: [${conditions.join(' ')}]. ` };
}
