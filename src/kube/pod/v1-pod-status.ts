/**
 * The status of a v1 Pod, in Kubernetes' JSON shape.
 *
 * Times are RFC 3339 in whole seconds (see {@link toV1Time}). What is absent is not known or does not apply.
 *
 * @module
 */

import { type ResourceList, type ResourceRequirements } from '../container/container.js';

/** Where a pod is in its life. `Unknown` is of control planes that lost sight of a node; podloop never computes it. */
export type PodPhase = 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown';

/** What share of the node a pod is sure of. */
export type PodQosClass = 'Guaranteed' | 'Burstable' | 'BestEffort';

/** The conditions that a node keeps, in the order in which a kubelet writes them. */
export type PodConditionType =
  | 'PodReadyToStartContainers'
  | 'Initialized'
  | 'Ready'
  | 'ContainersReady'
  | 'PodScheduled'
  | 'PodResizePending'
  | 'DisruptionTarget';

/** A v1 PodStatus. */
export interface V1PodStatus {
  readonly phase: PodPhase;
  readonly conditions: readonly V1PodCondition[];
  /** Why the pod ended, when not by itself: DeadlineExceeded, Evicted … */
  readonly reason?: string;
  readonly message?: string;
  readonly hostIP?: string;
  readonly hostIPs?: readonly { readonly ip: string }[];
  readonly podIP?: string;
  readonly podIPs?: readonly { readonly ip: string }[];
  /** Since when the pod is on this node. */
  readonly startTime?: string;
  /** In the order of the spec; absent when it has none. */
  readonly initContainerStatuses?: readonly V1ContainerStatus[];
  /** In the order of the spec. */
  readonly containerStatuses: readonly V1ContainerStatus[];
  /** In the order of the spec; absent when it has none. */
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
  /** Empty when there was no earlier container. */
  readonly lastState: V1ContainerState;
  readonly ready: boolean;
  readonly restartCount: number;
  readonly image: string;
  /** As the runtime resolved it; empty before there is a container. */
  readonly imageID: string;
  /** `containerd://<id>`; absent before there is a container. */
  readonly containerID?: string;
  readonly started: boolean;
  /** What it was promised; absent when it asks for nothing, and before there is a container. */
  readonly allocatedResources?: ResourceList;
  /** What is in force, empty when nothing was asked for; absent before there is a container. */
  readonly resources?: ResourceRequirements;
  /** In the order of the spec; absent when there are none. */
  readonly volumeMounts?: readonly V1VolumeMountStatus[];
  /** As whom its program began; absent where the runtime does not tell. */
  readonly user?: V1ContainerUser;
}

/** A v1 ContainerUser. */
export interface V1ContainerUser {
  readonly linux: {
    readonly uid: number;
    readonly gid: number;
    /** Absent when there are none. */
    readonly supplementalGroups?: readonly number[];
  };
}

/** A v1 VolumeMountStatus. */
export interface V1VolumeMountStatus {
  readonly name: string;
  readonly mountPath: string;
  /** Absent where it may be written to. */
  readonly readOnly?: boolean;
  /** Whether what is mounted below it is read-only as well; absent where it may be written to. */
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
  /** Null where nobody knows. */
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  readonly containerID?: string;
}

/** Whether a pod of that phase has ended for good. */
export function isTerminalPhase(phase: PodPhase): phase is 'Succeeded' | 'Failed' {
  return phase === 'Succeeded' || phase === 'Failed';
}

/** `2006-01-02T15:04:05Z`, as Kubernetes writes times, for milliseconds since the epoch. */
export function toV1Time(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
