import { type NodePod } from '#kube/pod/node-pod.js';
import { computePodQos } from '#kube/pod/pod-qos.js';
import {
  SCHEDULING_GATED,
  toV1Time,
  type V1PodCondition,
  type V1PodStatus,
} from '#kube/pod/v1-pod-status.js';

/**
 * The status of a pod that waits for its scheduling gates to be taken off. Pure.
 *
 * As on an API server: nothing is known of it but that, and it is on no node, so no deadline runs.
 */
export function computeGatedStatus(
  { spec }: NodePod,
  previous: readonly V1PodCondition[],
  nowMs: number,
): V1PodStatus {
  const before = previous.find(({ type, status }) => type === 'PodScheduled' && status === 'False');
  return {
    phase: 'Pending',
    conditions: [
      {
        ...{ type: 'PodScheduled', status: 'False', lastProbeTime: null },
        lastTransitionTime: before?.lastTransitionTime ?? toV1Time(nowMs),
        ...SCHEDULING_GATED,
      },
    ],
    containerStatuses: [],
    qosClass: computePodQos(spec),
  };
}
