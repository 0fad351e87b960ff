/**
 * The objects that pods refer to by name: what a manifest says of a ConfigMap or a Secret, read and checked.
 *
 * A pod finds only what its own source delivers, in its own namespace: whoever may write there could as well write it
 * into the pod.
 *
 * Source: https://kubernetes.io/docs/concepts/configuration/configmap/ and …/secret/
 *
 * @module
 */
import { type NodePod } from '../pod/node-pod.js';

/** Who such an object is. */
export interface ConfigObjectMeta {
  readonly name: string;
  /** Never empty. */
  readonly namespace: string;
  /** Of an API server's; a manifest's has none. */
  readonly uid?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** A v1 ConfigMap. No key is in both `data` and `binaryData`. */
export interface ConfigMap {
  readonly kind: 'ConfigMap';
  readonly metadata: ConfigObjectMeta;
  readonly data: ReadonlyMap<string, string>;
  /** For files only; never a variable. */
  readonly binaryData: ReadonlyMap<string, Uint8Array>;
  /** What is in it cannot change until it is removed and made anew. */
  readonly immutable?: boolean;
}

/** A v1 Secret. Its values are in no message, log or event. */
export interface Secret {
  readonly kind: 'Secret';
  readonly metadata: ConfigObjectMeta;
  /** `Opaque` unless written. */
  readonly type: string;
  /** `data` and `stringData` in one; a key of both has the value of `stringData`. */
  readonly data: ReadonlyMap<string, Uint8Array>;
  /** What is in it cannot change until it is removed and made anew. */
  readonly immutable?: boolean;
}

/** Either. */
export type ConfigObject = ConfigMap | Secret;

/** Finds what a pod refers to. */
export interface PodObjects {
  /**
   * Undefined when the pod's source has no such object, now. Throws an Error, in the kubelet's words, where that cannot be
   * known yet.
   */
  findConfigMap(pod: NodePod, name: string): ConfigMap | undefined;
  findSecret(pod: NodePod, name: string): Secret | undefined;
}
