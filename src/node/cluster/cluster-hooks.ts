import type { ClusterObjects, ClusterObjectsListener, NodeEvent } from '#cluster';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type V1PodStatus } from '#kube/pod/v1-pod-status.js';
import { type Rejection } from '../pods/loop/desired-pods.js';

/** What the parts of an agent ask a cluster, and report to it. */
export interface ClusterHooks {
  /** Opens the objects that pods of the API server refer to. Once. */
  openObjects(listener: ClusterObjectsListener): ClusterObjects;
  /** Why a pod may not be on this node, by what the Node says; undefined when it may. */
  admit(pod: NodePod): Rejection | undefined;
  /** The API server's status of a pod, whoever reported it; undefined for a pod that is not from there. */
  findReported(uid: string): V1PodStatus | undefined;
  /**
   * What all pods together may use, as the Node says: quantities by resource; undefined before it was read.
   */
  allocatable(): Readonly<Record<string, string>> | undefined;
  /** The addresses of the Node within the cluster; empty while there are none. */
  nodeIps(): readonly string[];
  /** Whether the Node belonged to a kubelet on this very machine before this agent; undefined until known. */
  isNodeOfKubeletHere(): boolean | undefined;
  /** The machine begins to shut down, or does not after all: the Node says so. */
  shutdownChanged(isShuttingDown: boolean): void;
  /** Sends an event of the Node. */
  recordEvent(event: NodeEvent): void;
  /** No container of a pod runs any more, or nothing at all is left of it. */
  podEndChanged(uid: string): void;
}
