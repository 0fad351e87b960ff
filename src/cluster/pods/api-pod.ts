import { type PodRef } from '#kube/pod/pod-ref.js';
import { STATIC_POD_ANNOTATIONS } from '#kube/pod/static-pod.js';
import { type NodeSelection } from '../node/match-node-selector.js';

/** As much of a pod of an API server as the node reads by itself; the whole goes to `readClusterPod`. Nothing is sure to be there. */
export interface ApiPod {
  readonly metadata?: ApiPodMeta;
  readonly spec?: ApiPodSpec;
  readonly status?: ApiPodStatus;
}

/** Who it is, which version this is, and whether somebody wants it gone. */
export interface ApiPodMeta {
  readonly name?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  /** Counts the versions of the spec; absent from servers before 1.33. */
  readonly generation?: number;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly annotations?: Readonly<Record<string, string>>;
  /** By whoever has something to do before it goes. */
  readonly finalizers?: readonly string[];
}

/** What the node's admission and the conditions go by. */
export interface ApiPodSpec extends NodeSelection {
  readonly nodeName?: string;
  readonly tolerations?: readonly Toleration[];
  readonly readinessGates?: readonly { readonly conditionType?: string }[];
  readonly os?: { readonly name?: string };
}

/** A taint that the pod puts up with, as it was written. */
export interface Toleration {
  readonly key?: string;
  readonly operator?: string;
  readonly value?: string;
  readonly effect?: string;
}

/** As the API server has it: what this node wrote, and what others did. */
export interface ApiPodStatus {
  readonly phase?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly startTime?: string;
  readonly conditions?: readonly ApiPodCondition[];
  readonly podIPs?: readonly { readonly ip?: string }[];
  readonly hostIPs?: readonly { readonly ip?: string }[];
  readonly [field: string]: unknown;
}

/** A condition of a status as it was written. */
export interface ApiPodCondition {
  readonly type?: string;
  readonly status?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string | null;
  readonly [field: string]: unknown;
}

/** Marks the copies of static pods that API servers hold; nobody runs them. */
export const MIRROR_ANNOTATION = 'kubernetes.io/config.mirror';

/** A pod of an API server with the names that it cannot be without. */
export type NamedApiPod = ApiPod & {
  readonly metadata: ApiPodMeta & { readonly uid: string; readonly namespace: string; readonly name: string };
};

/** Whether the object says which pod it is. */
export function isNamed(pod: ApiPod): pod is NamedApiPod {
  const { uid, namespace, name } = pod.metadata ?? {};
  return [uid, namespace, name].every((text) => typeof text === 'string' && text !== '');
}

/** Whether it stands for a static pod of the node. */
export function isMirrorPod({ metadata }: ApiPod): boolean {
  return metadata?.annotations?.[MIRROR_ANNOTATION] !== undefined;
}

/** Who it is, for events and log lines. */
export function refOf({ metadata: { uid, namespace, name } }: NamedApiPod): PodRef {
  return { uid, namespace, name };
}

/** Whether the API server holds the pod for one that has ended for good. */
export function hasEndedThere({ status }: ApiPod): boolean {
  return status?.phase === 'Succeeded' || status?.phase === 'Failed';
}

/** `/api/v1/namespaces/NS/pods/NAME`. */
export function pathOf({ namespace, name }: Pick<PodRef, 'namespace' | 'name'>): string {
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}`;
}

/** By what a mirror pod and its static pod are told to be of the same version: the manifest's hash, and the uid. */
export function versionOfStatic(annotations: Readonly<Record<string, string>> = {}): string {
  const { manifestHash, uid } = STATIC_POD_ANNOTATIONS;
  return `${annotations[uid] ?? ''} ${annotations[manifestHash] ?? ''}`;
}
