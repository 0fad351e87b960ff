import { type ConfigObject, type ConfigObjectMeta } from './config-object.js';

/**
 * A ConfigMap or Secret as Kubernetes writes it: values of `binaryData`, and of `data` of a Secret, are
 * base64.
 */
export interface V1ConfigObject {
  readonly apiVersion: 'v1';
  readonly kind: ConfigObject['kind'];
  readonly metadata: ConfigObjectMeta;
  readonly type?: string;
  readonly immutable?: boolean;
  readonly data?: Readonly<Record<string, string>>;
  readonly binaryData?: Readonly<Record<string, string>>;
}

/** Converts an object into plain JSON. Pure. */
export function toV1ConfigObject(object: ConfigObject): V1ConfigObject {
  const { kind, metadata, immutable } = object;
  const head = { apiVersion: 'v1', kind, metadata, ...(immutable === true ? { immutable } : {}) } as const;
  if (object.kind === 'Secret') return { ...head, type: object.type, data: toBase64(object.data) };
  const { data, binaryData } = object;
  return {
    ...head,
    ...(data.size === 0 ? {} : { data: Object.fromEntries(data) }),
    ...(binaryData.size === 0 ? {} : { binaryData: toBase64(binaryData) }),
  };
}

/** Converts it back, without validation, as it was validated before it was written. Pure. */
export function fromV1ConfigObject(written: V1ConfigObject): ConfigObject {
  const { kind, metadata, type = 'Opaque', immutable, data = {}, binaryData = {} } = written;
  const rest = immutable === true ? { immutable } : {};
  return kind === 'Secret'
    ? { kind, metadata, type, data: fromBase64(data), ...rest }
    : { kind, metadata, data: new Map(Object.entries(data)), binaryData: fromBase64(binaryData), ...rest };
}

function toBase64(values: ReadonlyMap<string, Uint8Array>): Record<string, string> {
  return Object.fromEntries([...values].map(([key, bytes]) => [key, Buffer.from(bytes).toString('base64')]));
}

function fromBase64(texts: Readonly<Record<string, string>>): Map<string, Uint8Array> {
  return new Map(
    Object.entries(texts).map(([key, text]) => [key, new Uint8Array(Buffer.from(text, 'base64'))]),
  );
}
