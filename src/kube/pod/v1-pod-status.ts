/**
 * The status of a v1 Pod, in Kubernetes' JSON shape.
 *
 * Times are RFC 3339 in whole seconds (see {@link toV1Time}). An absent field is unknown or does not apply.
 *
 * @module
 */

import { type ResourceList, type ResourceRequirements } from '../container/container.js';

/** The phase of a pod. Control planes set `Unknown` when they lose a node; podloop never computes it. */
export type PodPhase = 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown';

/** How firmly the node's resources are guaranteed to a pod. */
export type PodQosClass = 'Guaranteed' | 'Burstable' | 'BestEffort';

/** The conditions that a node sets, in the order in which a kubelet writes them. */
export type PodConditionType =
  | 'PodReadyToStartContainers'
  | 'Initialized'
  | 'Ready'
  | 'ContainersReady'
  | 'PodScheduled'
  | 'AllContainersRestarting'
  | 'PodResizePending'
  | 'DisruptionTarget';

/** A v1 PodStatus. */
export interface V1PodStatus {
  readonly phase: PodPhase;
  readonly conditions: readonly V1PodCondition[];
  /** Why the pod ended, if not by itself: DeadlineExceeded, Evicted … */
  readonly reason?: string;
  readonly message?: string;
  readonly hostIP?: string;
  readonly hostIPs?: readonly { readonly ip: string }[];
  readonly podIP?: string;
  readonly podIPs?: readonly { readonly ip: string }[];
  /** Since when the pod is on this node. */
  readonly startTime?: string;
  /** In the order of the spec; absent if there are none. */
  readonly initContainerStatuses?: readonly V1ContainerStatus[];
  /** In the order of the spec. */
  readonly containerStatuses: readonly V1ContainerStatus[];
  /** In the order of the spec; absent if there are none. */
  readonly ephemeralContainerStatuses?: readonly V1ContainerStatus[];
  readonly qosClass: PodQosClass;
}

/** A v1 PodCondition. */
export interface V1PodCondition {
  readonly type: PodConditionType;
  readonly status: 'True' | 'False';
  readonly lastProbeTime: null;
  readonly lastTransitionTime: string;
  readonly reason?: string;
  readonly message?: string;
}

/** A v1 ContainerStatus. */
export interface V1ContainerStatus {
  readonly name: string;
  readonly state: V1ContainerState;
  /** Empty if there was no earlier container. */
  readonly lastState: V1ContainerState;
  readonly ready: boolean;
  readonly restartCount: number;
  readonly image: string;
  /** As the runtime resolved it; empty before there is a container. */
  readonly imageID: string;
  /** `containerd://<id>`; absent before there is a container. */
  readonly containerID?: string;
  readonly started: boolean;
  /** The guaranteed amounts; absent if it requests nothing, and before there is a container. */
  readonly allocatedResources?: ResourceList;
  /** The amounts in force, empty if it requests nothing; absent before there is a container. */
  readonly resources?: ResourceRequirements;
  /** In the order of the spec; absent if there are none. */
  readonly volumeMounts?: readonly V1VolumeMountStatus[];
  /** The user that its program started as; absent if the runtime does not report it. */
  readonly user?: V1ContainerUser;
}

/** A v1 ContainerUser. */
export interface V1ContainerUser {
  readonly linux: {
    readonly uid: number;
    readonly gid: number;
    /** Absent if there are none. */
    readonly supplementalGroups?: readonly number[];
  };
}

/** A v1 VolumeMountStatus. */
export interface V1VolumeMountStatus {
  readonly name: string;
  readonly mountPath: string;
  /** Absent if it is writable. */
  readonly readOnly?: boolean;
  /** Whether mounts below it are read-only as well; absent if it is writable. */
  readonly recursiveReadOnly?: 'Disabled' | 'Enabled';
}

/** A v1 ContainerState: one of the three, or none of them. */
export interface V1ContainerState {
  readonly waiting?: V1ContainerWaiting;
  readonly running?: { readonly startedAt: string };
  readonly terminated?: V1ContainerTerminated;
}

/** Why a container does not run yet, or not again yet. */
export interface V1ContainerWaiting {
  readonly reason: string;
  readonly message?: string;
}

/** How a container ended. */
export interface V1ContainerTerminated {
  readonly exitCode: number;
  readonly reason: string;
  readonly message?: string;
  /** Null if unknown. */
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  readonly containerID?: string;
}

/** Whether a pod in this phase has ended for good. */
export function isTerminalPhase(phase: PodPhase): phase is 'Succeeded' | 'Failed' {
  return phase === 'Succeeded' || phase === 'Failed';
}

/** Formats milliseconds since the epoch as Kubernetes writes times: `2006-01-02T15:04:05Z`. */
export function toV1Time(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

/** Why a pod with scheduling gates has not begun, in the words of an API server. */
export const SCHEDULING_GATED = {
  reason: 'SchedulingGated',
  message: 'Scheduling is blocked due to non-empty scheduling gates',
} as const;

/** Whether a status is of a pod that waits for its gates. */
export function isGatedStatus({ conditions }: Pick<V1PodStatus, 'conditions'>): boolean {
  return conditions.some(({ type, reason }) => type === 'PodScheduled' && reason === SCHEDULING_GATED.reason);
}
