import { type ConfigObject } from '#kube/objects/config-object.js';

/** A ConfigMap or Secret as an API server sends it; read leniently. */
export interface KubeConfigObject {
  readonly metadata?: {
    readonly name?: string;
    readonly namespace?: string;
    readonly uid?: string;
    readonly resourceVersion?: string;
  };
  readonly type?: unknown;
  readonly immutable?: unknown;
  /** Of a Secret in base64. */
  readonly data?: unknown;
  /** In base64. */
  readonly binaryData?: unknown;
}

/** Which object is meant. */
export interface ConfigObjectId {
  readonly kind: ConfigObject['kind'];
  readonly namespace: string;
  readonly name: string;
}

/** What pods get to see of an object. Pure; entries that are no text are left out. */
export function readKubeConfigObject(
  object: KubeConfigObject,
  { kind, namespace, name }: ConfigObjectId,
): ConfigObject {
  const uid = object.metadata?.uid;
  const common = {
    metadata: { namespace, name, ...(uid === undefined ? {} : { uid }) },
    ...(object.immutable === true ? { immutable: true } : {}),
  };
  if (kind === 'Secret') {
    const type = typeof object.type === 'string' ? object.type : 'Opaque';
    return { ...common, kind, type, data: bytesOf(object.data) };
  }
  return { ...common, kind, data: new Map(textsOf(object.data)), binaryData: bytesOf(object.binaryData) };
}

function bytesOf(value: unknown): Map<string, Uint8Array> {
  return new Map(textsOf(value).map(([key, text]) => [key, new Uint8Array(Buffer.from(text, 'base64'))]));
}

function textsOf(value: unknown): [string, string][] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
}
