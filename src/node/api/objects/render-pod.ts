import { toV1Time, type V1PodStatus } from '#kube/pod/v1-pod-status.js';
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
    // An API server always has it, and `kubectl debug` reads it without asking.
    spec: pod.spec.securityContext === undefined ? { ...pod.spec, securityContext: {} } : pod.spec,
    status,
  };
}
