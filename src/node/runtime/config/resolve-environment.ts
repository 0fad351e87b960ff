import { type PodObjects } from '#kube/objects/config-object.js';
import { type Container } from '#kube/container/container.js';
import { type DownwardFieldFacts, fieldValue } from '#kube/objects/downward-field.js';
import {
  type DownwardResourceFacts,
  resourceValue,
  selectContainer,
} from '#kube/objects/downward-resource.js';
import {
  type EnvFromSource,
  type EnvVarSource,
  type FileKeySelector,
  type KeySelector,
  type ResourceFieldSelector,
} from '#kube/objects/env-source.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { withPodLimits } from '#kube/pod/pod-level-resources.js';
import { ContainerEnvironment } from './container-environment.js';

/** What a file has for a variable: empty where it has nothing. */
export interface FileKey {
  readonly file: string;
  readonly value: Uint8Array;
}

/** Variables from files, by the selector in the container; an Error says in the kubelet's words why one cannot be read. */
export type FileKeys = ReadonlyMap<FileKeySelector, FileKey | Error>;

/** Sources of values that are not in a manifest. */
export interface EnvironmentSources {
  readonly objects: PodObjects;
  readonly facts: DownwardFieldFacts & DownwardResourceFacts;
  /** Addresses of the cluster's services, with the lowest precedence (default: none). */
  readonly services?: ReadonlyMap<string, string> | undefined;
  /** What the container takes from files in its volumes, each read (default: nothing). */
  readonly fileKeys?: FileKeys;
}

/**
 * The environment of a container as of now. Pure.
 *
 * The order is services, then all of envFrom, then env. Each may refer to what is already set; the
 * last value of a name wins. Throws an Error in the kubelet's words when an object or key is missing that is
 * not optional. No message contains a value.
 *
 * Source: https://kubernetes.io/docs/tasks/inject-data-application/define-environment-variable-container/
 */
export function resolveEnvironment(
  pod: NodePod,
  container: Container,
  sources: EnvironmentSources,
): ContainerEnvironment {
  const environment = new ContainerEnvironment();
  for (const [name, value] of sources.services ?? []) environment.setVerbatim(name, value);
  for (const source of container.envFrom ?? []) {
    const { prefix = '' } = source;
    for (const [key, value] of entriesOf(pod, source, sources)) {
      const name = `${prefix}${key}`;
      if (typeof value === 'string') environment.setVerbatim(name, value);
      else environment.setSecret(name, value);
    }
  }
  for (const { name, value = '', valueFrom } of container.env ?? []) {
    if (valueFrom === undefined) {
      environment.setExpanded(name, value);
      continue;
    }
    const found = valueOf(pod, container, valueFrom, sources);
    // A missing optional value leaves what envFrom has set.
    if (found === undefined) continue;
    if (mayBeSecret(valueFrom)) environment.setSecret(name, Buffer.from(found));
    else environment.setVerbatim(name, found);
  }
  return environment;
}

/**
 * All variables of an object, sorted by key, as the order in an object has no meaning. Only Secrets have
 * bytes.
 */
function entriesOf(
  pod: NodePod,
  { configMapRef, secretRef }: EnvFromSource,
  { objects }: EnvironmentSources,
): (readonly [string, string | Uint8Array])[] {
  const entries: (readonly [string, string | Uint8Array])[] = [];
  if (configMapRef !== undefined) {
    const map = objects.findConfigMap(pod, configMapRef.name);
    if (map === undefined && configMapRef.optional !== true) throw notFound('configmap', configMapRef.name);
    entries.push(...(map?.data ?? []));
  }
  if (secretRef !== undefined) {
    const secret = objects.findSecret(pod, secretRef.name);
    if (secret === undefined && secretRef.optional !== true) throw notFound('secret', secretRef.name);
    entries.push(...(secret?.data ?? []));
  }
  return entries.sort(([one], [other]) => (one < other ? -1 : 1));
}

/** Undefined when it is optional and missing. */
function valueOf(
  pod: NodePod,
  container: Container,
  { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef }: EnvVarSource,
  { objects, facts, fileKeys }: EnvironmentSources,
): string | Uint8Array | undefined {
  if (fieldRef !== undefined) return fieldValue(pod, fieldRef.fieldPath, facts);
  if (resourceFieldRef !== undefined) return resourceOf(pod, container, resourceFieldRef, facts);
  if (configMapKeyRef !== undefined) {
    const map = objects.findConfigMap(pod, configMapKeyRef.name);
    return keyOf(pod, configMapKeyRef, map?.data, { word: 'configmap', kind: 'ConfigMap' });
  }
  if (secretKeyRef !== undefined) {
    const secret = objects.findSecret(pod, secretKeyRef.name);
    return keyOf(pod, secretKeyRef, secret?.data, { word: 'secret', kind: 'Secret' });
  }
  if (fileKeyRef !== undefined) return fileKeyOf(fileKeyRef, fileKeys);
  return '';
}

/** Nobody says of a file whether it has a token, so its values are treated as those of Secrets. Pure. */
export function mayBeSecret({ secretKeyRef, fileKeyRef }: EnvVarSource = {}): boolean {
  return secretKeyRef !== undefined || fileKeyRef !== undefined;
}

/** As with a kubelet, a file that cannot be read is an error even where it is optional. */
function fileKeyOf(selector: FileKeySelector, fileKeys: FileKeys | undefined): Uint8Array | undefined {
  const { volumeName, key, optional = false } = selector;
  const found = fileKeys?.get(selector);
  if (found === undefined)
    throw new Error(`cannot find the volume ${JSON.stringify(volumeName)} referenced by FileKeyRef`);
  if (found instanceof Error) throw found;
  if (found.value.length > 0) return found.value;
  if (optional) return undefined;
  const names = [key, found.file].map((name) => JSON.stringify(name));
  throw new Error(`environment variable key ${names[0]!} not found in file ${names[1]!}`);
}

function resourceOf(
  pod: NodePod,
  own: Container,
  selector: ResourceFieldSelector,
  facts: DownwardResourceFacts,
): string {
  const container = selectContainer(pod, selector, own);
  if (container === undefined) throw new Error(`container ${selector.containerName ?? ''} not found`);
  return resourceValue(withPodLimits(pod.spec, container), selector, facts);
}

function keyOf<Value>(
  { metadata }: NodePod,
  { name, key, optional = false }: KeySelector,
  data: ReadonlyMap<string, Value> | undefined,
  { word, kind }: { readonly word: string; readonly kind: string },
): Value | undefined {
  if (data === undefined && !optional) throw notFound(word, name);
  const value = data?.get(key);
  if (value === undefined && !optional) {
    throw new Error(`couldn't find key ${key} in ${kind} ${metadata.namespace}/${name}`);
  }
  return value;
}

function notFound(word: string, name: string): Error {
  return new Error(`${word} ${JSON.stringify(name)} not found`);
}
