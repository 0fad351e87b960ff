import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodRef } from '#kube/pod/pod-ref.js';
import { type V1PodStatus } from '#kube/pod/v1-pod-status.js';

/** What the node knows of a pod's status. */
export interface AgentPodStatus {
  readonly pod: PodRef;
  readonly status: V1PodStatus;
}

/** A change of what the node knows: see the status manager's `StatusChange`. */
export type AgentStatusChange =
  | { readonly type: 'status'; readonly record: AgentPodStatus }
  | { readonly type: 'removed'; readonly pod: PodRef }
  | { readonly type: 'resync' };

/** Changes of statuses for one reader, at most the newest of each pod. */
export interface AgentStatusChanges extends AsyncIterable<AgentStatusChange> {
  close(): void;
}

/** What the part of a cluster's node that has pods needs of the agent around it. */
export interface AgentPods {
  /** Takes all pods of the API server that are to be here; again and again. */
  deliver(pods: readonly NodePod[]): void;
  /** Why a pod that was delivered is not run: another one on the node has its name. Undefined when nothing is in its way. */
  findRefusal(uid: string): string | undefined;
  /**
   * The API server holds a pod for ended, which this node has not ended: it is not to run, over restarts of the agent, and
   * if it runs it is ended. Called before the pod is delivered, and perhaps more than once.
   */
  markEnded(pod: NodePod, status: V1PodStatus): void;
  /** The status of a pod as computed last; undefined for one that was never looked at. */
  findStatus(uid: string): AgentPodStatus | undefined;
  /** The version of the pod that its status is of. */
  findStatusPod(uid: string): NodePod | undefined;
  statuses(): Iterable<AgentPodStatus>;
  watchStatuses(): AgentStatusChanges;
  /** Whether containers of the pod may run, wanted or not; true, too, while nobody knows. */
  mayHaveRunning(uid: string): boolean;
  /** Nothing of the pod is left: its containers have ended, its volumes and all else that it held is given back. */
  isFinished(uid: string): boolean;
  /** The pods of manifests that are wanted; undefined while not all sources of them have been seen. */
  staticPods(): readonly NodePod[] | undefined;
  /** What a static pod was rejected for may not hold any more. */
  judgeRejected(): void;
}
