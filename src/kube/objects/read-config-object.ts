import { isRecord } from '#base/text/is-record.js';
import { type ConfigMap, type ConfigObject, type ConfigObjectMeta, type Secret } from './config-object.js';
import { decodeObject } from '../fields/decode-object.js';
import { DEFAULT_NAMESPACE } from './default-namespace.js';
import { type Draft } from '../fields/draft.js';
import { type FieldPath } from '../fields/field-path.js';
import { type FieldProblem, invalid } from '../fields/field-problem.js';
import { type ObjectMeta } from '../pod/pod.js';
import { ProblemList } from '../validation/problem-list.js';
import { checkKeys, checkSecretType, checkSize } from '../validation/validate-config-object.js';
import { validateMetadata } from '../validation/validate-metadata.js';
import { type FieldTable, ignored, refused, supported } from '../fields/field-facts.js';

/** The result of {@link readConfigObject}. */
export interface ConfigObjectReading {
  /** Absent if there are problems. */
  readonly object?: ConfigObject;
  /** The name in the object, as far as it can be read: for messages. */
  readonly name: string;
  /** The namespace (default: `default`). */
  readonly namespace: string;
  /** All problems, those of types and unknown fields first. None contains a value of a Secret. */
  readonly problems: readonly FieldProblem[];
}

type Texts = Readonly<Record<string, string | undefined>>;

/** The written form: values of `data` of a Secret, and of `binaryData`, are base64. */
interface Written {
  readonly metadata: ObjectMeta;
  readonly immutable: boolean;
  readonly type: string;
  readonly data: Texts;
  readonly binaryData: Texts;
  readonly stringData: Texts;
}

const DEFAULT_TYPE = 'Opaque';

/**
 * Reads and validates a v1 ConfigMap or v1 Secret from plain JSON, strictly. Never throws.
 *
 * An entry without a value is an empty one, as for an API server. `stringData` takes precedence over `data`.
 */
export function readConfigObject(value: unknown, kind: ConfigObject['kind']): ConfigObjectReading {
  const decoded = decodeObject(withoutNulls(value), kind, CONFIG_OBJECT_TABLES, () => true);
  const draft = (decoded.value ?? {}) as Draft<Written>;
  const list = new ProblemList();
  if (draft.metadata !== undefined) validateMetadata(draft.metadata, ['metadata'], list);
  const isWhole = decoded.problems.length === 0;
  const object = kind === 'Secret' ? readSecret(draft, isWhole, list) : readConfigMap(draft, list);
  const problems = [...decoded.problems, ...list.problems];
  return {
    ...(problems.length === 0 ? { object } : {}),
    name: draft.metadata?.name ?? '',
    namespace: draft.metadata?.namespace ?? DEFAULT_NAMESPACE,
    problems,
  };
}

function readConfigMap(draft: Draft<Written>, list: ProblemList): ConfigMap {
  const data = new Map(entriesOf(draft.data));
  const binaryData = decodeEntries(draft.binaryData, ['binaryData'], list);
  checkKeys(data.keys(), ['data'], list);
  checkKeys(Object.keys(draft.binaryData ?? {}), ['binaryData'], list);
  for (const key of Object.keys(draft.binaryData ?? {})) {
    if (data.has(key)) {
      list.add(invalid(['binaryData', { key }], key, 'duplicate of key present in data'));
    }
  }
  checkSize([...data.values(), ...binaryData.values()], [], list);
  return { kind: 'ConfigMap', metadata: toMeta(draft), data, binaryData, ...toImmutable(draft) };
}

function readSecret(draft: Draft<Written>, isWhole: boolean, list: ProblemList): Secret {
  const data = decodeEntries(draft.data, ['data'], list);
  checkKeys(Object.keys(draft.data ?? {}), ['data'], list);
  checkKeys(Object.keys(draft.stringData ?? {}), ['stringData'], list);
  const written = new Set<string>();
  for (const [key, text] of entriesOf(draft.stringData)) {
    written.add(key);
    data.set(key, new TextEncoder().encode(text));
  }
  checkSize([...data.values()], ['data'], list);
  const type = draft.type ?? DEFAULT_TYPE;
  // An unreadable entry does exist, so it must not be reported as missing.
  if (isWhole && list.problems.length === 0) {
    checkSecretType(type, { data, written, annotations: draft.metadata?.annotations ?? {} }, list);
  }
  return { kind: 'Secret', metadata: toMeta(draft), type, data, ...toImmutable(draft) };
}

function toMeta({ metadata = {} }: Draft<Written>): ConfigObjectMeta {
  const { name = '', namespace = DEFAULT_NAMESPACE, labels, annotations } = metadata;
  return {
    ...{ name, namespace },
    ...(labels === undefined ? {} : { labels: Object.fromEntries(entriesOf(labels)) }),
    ...(annotations === undefined ? {} : { annotations: Object.fromEntries(entriesOf(annotations)) }),
  };
}

function toImmutable({ immutable }: Draft<Written>): { readonly immutable?: true } {
  return immutable === true ? { immutable } : {};
}

function decodeEntries(
  texts: Texts | undefined,
  path: FieldPath,
  list: ProblemList,
): Map<string, Uint8Array> {
  const decoded = new Map<string, Uint8Array>();
  for (const [key, text] of entriesOf(texts)) {
    const bytes = fromBase64(text);
    if (bytes === undefined) list.add(notBase64([...path, { key }]));
    else decoded.set(key, bytes);
  }
  return decoded;
}

function notBase64(path: FieldPath): FieldProblem {
  const way = path[0] === 'data' ? 'write text as it is under stringData' : 'write text as it is under data';
  return { kind: 'type', path, message: `must be base64, with its padding; ${way}` };
}

/**
 * Decodes base64 like an API server: padding is required, line breaks are ignored. Undefined if it is
 * invalid.
 */
function fromBase64(text: string): Uint8Array | undefined {
  const plain = text.replaceAll(/[\r\n]/g, '');
  if (plain.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(plain)) return undefined;
  return new Uint8Array(Buffer.from(plain, 'base64'));
}

function entriesOf(texts: Texts | undefined): [string, string][] {
  return Object.entries(texts ?? {}).filter((entry): entry is [string, string] => entry[1] !== undefined);
}

const MAPS = ['data', 'binaryData', 'stringData'];

function withoutNulls(value: unknown): unknown {
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => {
      if (!MAPS.includes(name) || !isRecord(field)) return [name, field];
      return [name, Object.fromEntries(Object.entries(field).map(([key, item]) => [key, item ?? '']))];
    }),
  );
}

const API_SERVER = 'an API server writes it';

const META: FieldTable = {
  name: supported('string', { required: true }),
  generateName: refused(
    'use name: a manifest is read again and again, and is the same object each time; podloop create -f makes a name',
    'string',
  ),
  namespace: supported('string', { default: DEFAULT_NAMESPACE }),
  selfLink: ignored('string', API_SERVER),
  uid: ignored('string', API_SERVER),
  resourceVersion: ignored('string', API_SERVER),
  generation: ignored('int64', API_SERVER),
  creationTimestamp: ignored('string', API_SERVER),
  deletionTimestamp: refused('remove the object from the manifest to delete it', 'string'),
  deletionGracePeriodSeconds: refused('remove the object from the manifest to delete it', 'int64'),
  labels: supported('map[string]string'),
  // kubectl stores the whole applied object in one of them.
  annotations: supported('map[string]string', { isSecret: true }),
  ownerReferences: ignored('any', 'the objects that own it are of an API server'),
  finalizers: refused('nobody here would take them off', '[]string'),
  managedFields: ignored('any', API_SERVER),
};

/** The tables of both, by type name. */
const CONFIG_OBJECT_TABLES: Readonly<Record<string, FieldTable>> = {
  ConfigMap: {
    apiVersion: supported('string', { required: true, only: ['v1'], otherwise: 'use v1' }),
    kind: supported('string', { required: true, only: ['ConfigMap'], otherwise: 'use ConfigMap' }),
    metadata: supported('ConfigObjectMeta', { required: true }),
    immutable: supported('boolean'),
    data: supported('map[string]string'),
    // In base64.
    binaryData: supported('map[string]string'),
  },
  Secret: {
    apiVersion: supported('string', { required: true, only: ['v1'], otherwise: 'use v1' }),
    kind: supported('string', { required: true, only: ['Secret'], otherwise: 'use Secret' }),
    metadata: supported('ConfigObjectMeta', { required: true }),
    immutable: supported('boolean'),
    type: supported('string', { default: 'Opaque' }),
    // In base64.
    data: supported('map[string]string', { isSecret: true }),
    stringData: supported('map[string]string', { isSecret: true }),
  },
  ConfigObjectMeta: META,
};
