import { type Container } from '../container/container.js';
import { type Draft, entriesOf } from '../fields/draft.js';
import {
  type EnvVar,
  type FileKeySelector,
  type KeySelector,
  type ObjectFieldSelector,
  type ResourceFieldSelector,
} from '../objects/env-source.js';
import { type FieldPath } from '../fields/field-path.js';
import { forbidden, invalid, notFound, required, unsupportedValue } from '../fields/field-problem.js';
import {
  checkConfigKey,
  checkEnvName,
  checkLabel,
  checkNoBacksteps,
  checkNoNul,
  checkQualifiedName,
  checkSubdomain,
} from './name-rules.js';
import { type PodSpec } from '../pod/pod.js';
import { type ProblemList } from './problem-list.js';
import { formatQuantity, getQuantity } from '../fields/quantity.js';

const SOURCES = [
  ...(['fieldRef', 'resourceFieldRef', 'configMapKeyRef', 'secretKeyRef', 'fileKeyRef'] as const),
] as const;
const ENV_FIELDS = [
  ...['metadata.name', 'metadata.namespace', 'metadata.uid', 'spec.nodeName', 'spec.serviceAccountName'],
  ...['status.hostIP', 'status.hostIPs', 'status.podIP', 'status.podIPs'],
];
const FILE_FIELDS = [
  ...['metadata.annotations', 'metadata.labels', 'metadata.name', 'metadata.namespace', 'metadata.uid'],
];
const RESOURCES = ['cpu', 'memory', 'ephemeral-storage'].flatMap((name) => [
  `limits.${name}`,
  `requests.${name}`,
]);
const BYTE_DIVISORS = [
  '1',
  ...['k', 'M', 'G', 'T', 'P', 'E'].flatMap((suffix) => [`1${suffix}`, `1${suffix === 'k' ? 'K' : suffix}i`]),
];

/** Validates the environment of a container. */
export function validateEnv(container: Draft<Container>, path: FieldPath, list: ProblemList): void {
  for (const [index, variable] of entriesOf(container.env)) {
    const place = [...path, 'env', index];
    list.check([...place, 'name'], variable.name, checkEnvName);
    list.check([...place, 'value'], variable.value, checkNoNul);
    if (variable.valueFrom !== undefined) validateSource(variable, [...place, 'valueFrom'], list);
  }
  for (const [index, source] of entriesOf(container.envFrom)) {
    const place = [...path, 'envFrom', index];
    list.check([...place, 'prefix'], source.prefix, checkEnvName);
    exactlyOne(source, ['configMapRef', 'secretRef'], place, list);
    for (const name of ['configMapRef', 'secretRef'] as const) {
      list.check([...place, name, 'name'], source[name]?.name, checkSubdomain);
    }
  }
}

function validateSource({ value, valueFrom }: Draft<EnvVar>, path: FieldPath, list: ProblemList): void {
  const source = valueFrom!;
  exactlyOne(source, SOURCES, path, list);
  if (value !== undefined) list.add(forbidden(path, 'there is a value already'));
  const { fieldRef, resourceFieldRef } = source;
  if (fieldRef !== undefined) validateFieldRef(fieldRef, ENV_FIELDS, [...path, 'fieldRef'], list);
  if (resourceFieldRef !== undefined)
    validateResourceFieldRef(resourceFieldRef, [...path, 'resourceFieldRef'], list);
  for (const name of ['configMapKeyRef', 'secretKeyRef'] as const) {
    const selector: Draft<KeySelector> | undefined = source[name];
    list.check([...path, name, 'name'], selector?.name, checkSubdomain);
    list.check([...path, name, 'key'], selector?.key, checkConfigKey);
  }
  const { volumeName, path: file, key }: Draft<FileKeySelector> = source.fileKeyRef ?? {};
  list.check([...path, 'fileKeyRef', 'volumeName'], volumeName, checkLabel);
  list.check([...path, 'fileKeyRef', 'path'], file, (text) => checkNoBacksteps(text) ?? checkNoNul(text));
  list.check([...path, 'fileKeyRef', 'key'], key, checkEnvName);
}

/** Validates that variables from files name emptyDir volumes of the pod. */
export function validateFileKeyVolumes(spec: Draft<PodSpec>, path: FieldPath, list: ProblemList): void {
  const volumes = new Map(entriesOf(spec.volumes).map(([, volume]) => [volume.name, volume]));
  for (const field of ['containers', 'initContainers', 'ephemeralContainers'] as const) {
    for (const [index, container] of entriesOf<Draft<Container>>(spec[field])) {
      for (const [at, { valueFrom }] of entriesOf(container.env)) {
        const name = valueFrom?.fileKeyRef?.volumeName;
        if (name === undefined) continue;
        const place = [...path, field, index, 'env', at, 'valueFrom', 'fileKeyRef', 'volumeName'];
        const volume = volumes.get(name);
        if (volume === undefined) list.add(notFound(place, name));
        // Without any source it is an emptyDir, too.
        else if (volume.emptyDir === undefined && Object.keys(volume).length > 1)
          list.add(invalid(place, name, 'referenced volume must be of type emptyDir'));
      }
    }
  }
}

/** Validates a fact about the pod for a file of a volume; files allow more facts than variables. */
export function validateFileFieldRef(
  ref: Draft<ObjectFieldSelector>,
  path: FieldPath,
  list: ProblemList,
): void {
  validateFieldRef(ref, FILE_FIELDS, path, list);
}

function validateFieldRef(
  { apiVersion, fieldPath }: Draft<ObjectFieldSelector>,
  fields: readonly string[],
  path: FieldPath,
  list: ProblemList,
): void {
  list.check([...path, 'apiVersion'], apiVersion, (version) => (version === 'v1' ? undefined : 'must be v1'));
  if (fieldPath === undefined) return;
  const place = [...path, 'fieldPath'];
  const subscript = /^(metadata\.(?:labels|annotations))\['([^]*)'\]$/.exec(fieldPath);
  if (subscript === null) {
    if (!fields.includes(fieldPath)) list.add(unsupportedValue(place, fieldPath, fields));
    return;
  }
  const key = subscript[1] === 'metadata.labels' ? subscript[2]! : subscript[2]!.toLowerCase();
  const broken = checkQualifiedName(key);
  if (broken !== undefined) list.add(invalid(place, fieldPath, broken));
}

/** Validates a limit or request of a container, for a variable or a file. */
export function validateResourceFieldRef(
  { resource, divisor }: Draft<ResourceFieldSelector>,
  path: FieldPath,
  list: ProblemList,
): void {
  if (resource === undefined) return;
  const isHugePages = /^(?:limits|requests)\.hugepages-./.test(resource);
  if (!RESOURCES.includes(resource) && !isHugePages) {
    list.add(unsupportedValue([...path, 'resource'], resource, RESOURCES));
    return;
  }
  if (divisor === undefined || divisor === '0') return;
  const divisors = resource.endsWith('.cpu') ? ['1m', '1'] : BYTE_DIVISORS;
  if (!divisors.includes(formatQuantity(getQuantity(divisor))))
    list.add(invalid([...path, 'divisor'], divisor, `use one of ${divisors.join(', ')}`));
}

/** Requires exactly one of these fields. */
export function exactlyOne<Name extends string>(
  value: { readonly [Field in Name]?: unknown },
  names: readonly Name[],
  path: FieldPath,
  list: ProblemList,
): void {
  const [first, ...others] = names.filter((name) => value[name] !== undefined);
  if (first === undefined) list.add(required(path, `must have one of ${names.join(', ')}`));
  for (const name of others)
    list.add(forbidden([...path, name], `there is ${first!} already; only one may be set`));
}
