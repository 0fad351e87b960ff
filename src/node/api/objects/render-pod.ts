import { isGatedStatus, toV1Time, type V1PodStatus } from '#kube/pod/v1-pod-status.js';
import { type OwnerReference } from '#kube/pod/node-pod.js';
import { type PodSpec } from '#kube/pod/pod.js';
import { type ServedPod } from './served-pod.js';

/** A v1 Pod as `kubectl get -o json` shows it. */
export interface V1Pod {
  readonly apiVersion: 'v1';
  readonly kind: 'Pod';
  readonly metadata: V1PodMeta;
  readonly spec: PodSpec;
  readonly status: V1PodStatus;
}

/** The metadata of a {@link V1Pod}. */
export interface V1PodMeta {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly OwnerReference[];
}

/**
 * The v1 Pod of a pod of this node. Pure.
 *
 * The spec is as written, with defaults and the node's name; literal values of variables are shown as they
 * are, as in `kubectl get`.
 */
export function renderPod({ pod, status, createdAtMs, deletion }: ServedPod, resourceVersion: number): V1Pod {
  const { name, namespace, uid, labels, annotations, ownerReferences } = pod.metadata;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...{ name, namespace, uid },
      resourceVersion: String(resourceVersion),
      creationTimestamp: toV1Time(createdAtMs),
      ...deletion,
      ...(labels === undefined ? {} : { labels }),
      ...(annotations === undefined ? {} : { annotations }),
      ...(ownerReferences === undefined ? {} : { ownerReferences }),
    },
    spec: specOf(pod, status),
    status,
  };
}

function specOf({ spec }: ServedPod['pod'], status: V1PodStatus): PodSpec {
  // An API server always has it, and `kubectl debug` reads it without asking.
  const full = spec.securityContext === undefined ? { ...spec, securityContext: {} } : spec;
  if (!isGatedStatus(status)) return full;
  // It is on no node yet, and nobody may write both.
  const { nodeName: _node, ...rest } = full;
  return rest;
}
