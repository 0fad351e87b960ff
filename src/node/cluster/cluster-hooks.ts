import type { ClusterObjects, ClusterObjectsListener } from '#cluster';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type V1PodStatus } from '#kube/pod/v1-pod-status.js';
import { type Rejection } from '../pods/loop/desired-pods.js';

/** What the parts of an agent ask a cluster, and tell it. */
export interface ClusterHooks {
  /** What pods of the API server refer to. Once. */
  openObjects(listener: ClusterObjectsListener): ClusterObjects;
  /** Why a pod may not be on this node, by what the Node says; undefined when it may. */
  admit(pod: NodePod): Rejection | undefined;
  /** What the API server knows of a pod, whoever told it; undefined of one that is not from there. */
  findTold(uid: string): V1PodStatus | undefined;
  /** What pods may use together, as the Node says: quantities by resource; undefined before it was seen. */
  allocatable(): Readonly<Record<string, string>> | undefined;
  /** Under which addresses the Node is found within the cluster; empty while there are none. */
  nodeIps(): readonly string[];
  /** Whether the Node was that of a kubelet on this very machine before we took it up; undefined until that is known. */
  isNodeOfKubeletHere(): boolean | undefined;
  /** No container of a pod runs any more, or nothing at all is left of it. */
  podEndChanged(uid: string): void;
}
