/**
 * The objects of an API server as they come over the wire: raw JSON, in which times are RFC 3339 strings, quantities
 * are strings, and bytes are base64.
 *
 * The types are those of the package `kubernetes-types`, generated from Kubernetes' own OpenAPI description. They say what a
 * correct server sends: read every field as if it could be absent, and fields of newer versions are there as well.
 *
 * @module
 */
import {
  type AttachedVolume,
  type ConfigMap,
  type ContainerImage,
  type ContainerStatus,
  type Event,
  type EventSource,
  type LocalObjectReference,
  type Namespace,
  type Node,
  type NodeAddress,
  type NodeCondition,
  type NodeSpec,
  type NodeStatus,
  type NodeSystemInfo,
  type ObjectReference,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  type PodCondition,
  type PodSpec,
  type PodStatus,
  type Secret,
  type Service,
  type ServiceAccount,
  type Taint,
} from 'kubernetes-types/core/v1.js';
import { type TokenRequest } from 'kubernetes-types/authentication/v1.js';
import { type CertificateSigningRequest } from 'kubernetes-types/certificates/v1.js';
import { type Lease, type LeaseSpec } from 'kubernetes-types/coordination/v1.js';
import {
  type ListMeta,
  type ObjectMeta,
  type OwnerReference,
  type Status,
} from 'kubernetes-types/meta/v1.js';
import { type RuntimeClass } from 'kubernetes-types/node/v1.js';

export type {
  AttachedVolume,
  CertificateSigningRequest,
  ConfigMap,
  ContainerImage,
  ContainerStatus,
  Event,
  EventSource,
  Lease,
  LeaseSpec,
  ListMeta,
  LocalObjectReference,
  Namespace,
  Node,
  NodeAddress,
  NodeCondition,
  NodeSpec,
  NodeStatus,
  NodeSystemInfo,
  ObjectMeta,
  ObjectReference,
  OwnerReference,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodCondition,
  PodSpec,
  PodStatus,
  RuntimeClass,
  Secret,
  Service,
  ServiceAccount,
  Status,
  Taint,
  TokenRequest,
};

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
