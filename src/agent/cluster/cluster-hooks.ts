import type { ClusterObjects, ClusterObjectsListener } from '../../cluster/objects/cluster-objects.js';
import { type NodePod } from '../../model/node-pod.js';
import { type Rejection } from '../../sync/desired-pods.js';

/** What the parts of an agent ask a cluster, and tell it. */
export interface ClusterHooks {
  /** What pods of the API server refer to. Once. */
  openObjects(listener: ClusterObjectsListener): ClusterObjects;
  /** Why a pod of the API server may not be on this node; undefined when it may, and for pods from elsewhere. */
  admit(pod: NodePod): Rejection | undefined;
  /** What others have given the Node to hand out, in pieces by name: `example.com/gpu`. */
  extendedResources(): ReadonlyMap<string, bigint>;
  /** No container of a pod runs any more, or nothing at all is left of it. */
  podEndChanged(uid: string): void;
}
