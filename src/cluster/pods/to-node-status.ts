import {
  type PodPhase,
  type V1ContainerStatus,
  type V1PodCondition,
  type V1PodStatus,
} from '#kube/pod/v1-pod-status.js';
import { type NamedApiPod } from './api-pod.js';

/** The status that the API server has of a pod, in the shape that the node computes: lists are there, if empty. */
export function toNodeStatus({ status = {} }: NamedApiPod): V1PodStatus {
  const { conditions = [], ...rest } = status;
  const own = rest as Partial<V1PodStatus>;
  const { initContainerStatuses, ephemeralContainerStatuses } = own;
  return {
    ...own,
    phase: (status.phase ?? 'Pending') as PodPhase,
    conditions: conditions.filter(({ type }) =>
      OWN_CONDITIONS.has(type ?? ''),
    ) as unknown as V1PodCondition[],
    ...(initContainerStatuses === undefined
      ? {}
      : { initContainerStatuses: initContainerStatuses.map(whole) }),
    containerStatuses: (own.containerStatuses ?? []).map(whole),
    ...(ephemeralContainerStatuses === undefined
      ? {}
      : { ephemeralContainerStatuses: ephemeralContainerStatuses.map(whole) }),
    qosClass: own.qosClass ?? 'BestEffort',
  };
}

/** Of a pod that the node does not take: what else the API server knows of it stays. */
export function untakenStatus(
  { status }: NamedApiPod,
  { phase, reason, message }: Pick<V1PodStatus, 'phase' | 'reason' | 'message'>,
): V1PodStatus {
  const qosClass = (status?.['qosClass'] ?? 'BestEffort') as V1PodStatus['qosClass'];
  return {
    ...{ phase, conditions: [], containerStatuses: [], qosClass },
    ...(reason === undefined ? {} : { reason }),
    ...(message === undefined ? {} : { message }),
  };
}

/** The conditions that a node keeps; all others are somebody else's. */
const OWN_CONDITIONS: ReadonlySet<string> = new Set([
  ...['PodReadyToStartContainers', 'Initialized', 'Ready', 'ContainersReady', 'PodScheduled'],
  ...['AllContainersRestarting', 'PodResizePending'],
]);

function whole(status: V1ContainerStatus): V1ContainerStatus {
  const read = status as Partial<V1ContainerStatus> & { readonly name: string };
  return {
    ...status,
    state: read.state ?? {},
    lastState: read.lastState ?? {},
    started: read.started ?? false,
    imageID: read.imageID ?? '',
  };
}
