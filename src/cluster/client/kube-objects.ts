/**
 * The objects of an API server as they come over the wire: raw JSON, in which times are RFC 3339 strings, quantities
 * are strings, and bytes are base64.
 *
 * The types are those of the package `kubernetes-types`, generated from Kubernetes' own OpenAPI description. They say what a
 * correct server sends: read every field as if it could be absent, and fields of newer versions are there as well.
 *
 * @module
 */
import type { ListMeta } from 'kubernetes-types/meta/v1.js';

export type { CertificateSigningRequest } from 'kubernetes-types/certificates/v1.js';
export type { Lease } from 'kubernetes-types/coordination/v1.js';
export type {
  ConfigMap,
  ContainerStatus,
  Event,
  Node,
  Pod,
  PodSpec,
  Secret,
} from 'kubernetes-types/core/v1.js';

/** The answer to a list; items have no `apiVersion` and `kind` of their own. */
export interface KubeList<T> {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: ListMeta;
  readonly items?: readonly T[];
}
