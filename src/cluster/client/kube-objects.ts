/**
 * The objects of an API server as they come over the wire: raw JSON, in which times are RFC 3339 strings, quantities
 * are strings, and bytes are base64.
 *
 * The types are those of the package `kubernetes-types`, generated from Kubernetes' own OpenAPI description. They say what a
 * correct server sends: read every field as if it could be absent, and fields of newer versions are there as well.
 *
 * @module
 */
import type { ListMeta, ObjectMeta } from 'kubernetes-types/meta/v1.js';

export type { TokenRequest } from 'kubernetes-types/authentication/v1.js';
export type { CertificateSigningRequest } from 'kubernetes-types/certificates/v1.js';
export type { Lease, LeaseSpec } from 'kubernetes-types/coordination/v1.js';
export type {
  AttachedVolume,
  ConfigMap,
  ContainerImage,
  ContainerStatus,
  Event,
  EventSource,
  LocalObjectReference,
  Namespace,
  Node,
  NodeAddress,
  NodeCondition,
  NodeSpec,
  NodeStatus,
  NodeSystemInfo,
  ObjectReference,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodCondition,
  PodSpec,
  PodStatus,
  Secret,
  Service,
  ServiceAccount,
  Taint,
} from 'kubernetes-types/core/v1.js';
export type { ListMeta, ObjectMeta, OwnerReference, Status } from 'kubernetes-types/meta/v1.js';
export type { RuntimeClass } from 'kubernetes-types/node/v1.js';

/** Any object: what reflectors and caches need of it. */
export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: ObjectMeta;
}

/** The answer to a list; items have no `apiVersion` and `kind` of their own. */
export interface KubeList<T> {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: ListMeta;
  readonly items?: readonly T[];
}
