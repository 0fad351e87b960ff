/**
 * ConfigMaps and Secrets, read from manifests and validated, which pods refer to by name.
 *
 * A pod finds only objects of its own source and namespace: anybody who may write there could as well put the
 * content into the pod.
 *
 * Source: https://kubernetes.io/docs/concepts/configuration/configmap/ and …/secret/
 *
 * @module
 */
import { type NodePod } from '../pod/node-pod.js';

/** Identifies such an object. */
export interface ConfigObjectMeta {
  readonly name: string;
  /** Never empty. */
  readonly namespace: string;
  /** Only of an API server's objects; a manifest's have none. */
  readonly uid?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** A v1 ConfigMap. No key is in both `data` and `binaryData`. */
export interface ConfigMap {
  readonly kind: 'ConfigMap';
  readonly metadata: ConfigObjectMeta;
  readonly data: ReadonlyMap<string, string>;
  /** Only for files, never for variables. */
  readonly binaryData: ReadonlyMap<string, Uint8Array>;
  /** Its content cannot change until it is removed and created again. */
  readonly immutable?: boolean;
}

/** Where Secrets with logins of registries have Docker's file, by their type. */
export const DOCKER_SECRET_KEYS: ReadonlyMap<string, string> = new Map([
  ['kubernetes.io/dockerconfigjson', '.dockerconfigjson'],
  ['kubernetes.io/dockercfg', '.dockercfg'],
]);

/** A v1 Secret. Its values never appear in messages, logs or events. */
export interface Secret {
  readonly kind: 'Secret';
  readonly metadata: ConfigObjectMeta;
  /** The type (default: `Opaque`). */
  readonly type: string;
  /** `data` and `stringData` merged; `stringData` takes precedence. */
  readonly data: ReadonlyMap<string, Uint8Array>;
  /** Its content cannot change until it is removed and created again. */
  readonly immutable?: boolean;
}

/** A ConfigMap or a Secret. */
export type ConfigObject = ConfigMap | Secret;

/** Finds the objects that a pod refers to. */
export interface PodObjects {
  /**
   * Undefined if the pod's source has no such object at present.
   *
   * Throws an Error, in the kubelet's words, if that is not known yet.
   */
  findConfigMap(pod: NodePod, name: string): ConfigMap | undefined;
  findSecret(pod: NodePod, name: string): Secret | undefined;
}
