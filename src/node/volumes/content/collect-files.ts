/**
 * Computes the files of a content volume from objects and facts of a pod. Pure.
 *
 * If that is impossible, throws with the reason in the kubelet's words. No message contains a value.
 *
 * @module
 */
import {
  type ConfigMap,
  type ConfigObject,
  type PodObjects,
  type Secret,
} from '#kube/objects/config-object.js';
import { type DownwardFieldFacts, fieldValue } from '#kube/objects/downward-field.js';
import {
  type DownwardResourceFacts,
  resourceValue,
  selectContainer,
} from '#kube/objects/downward-resource.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import {
  type ConfigMapVolume,
  type DownwardApiFile,
  type KeyToPath,
  type ObjectProjection,
  type ProjectedVolume,
  type SecretVolume,
  type ServiceAccountTokenProjection,
  type VolumeProjection,
} from '#kube/pod/volume.js';
import { withPodLimits } from '#kube/pod/pod-level-resources.js';
import { messageOf } from '#base/errors/errors.js';
import { type ContentFile, type ContentPayload } from './content-payload.js';

/** The inputs besides the volume. */
export interface FileFacts {
  readonly pod: NodePod;
  readonly objects: PodObjects;
  readonly downward: DownwardFieldFacts & DownwardResourceFacts;
  /** By the projections that request them (default: none). */
  readonly tokens?: ReadonlyMap<ServiceAccountTokenProjection, string>;
}

/** Kubernetes' default, for manifests that were read without defaults. */
const DEFAULT_MODE = 0o644;
/** Mode of a token that has an owner or a group; the group may read it. */
const TOKEN_MODE = 0o600;

/** The files of a configMap volume. */
export function collectConfigMap(volume: ConfigMapVolume, { pod, objects }: FileFacts): ContentPayload {
  return filesOf('configmap', objects.findConfigMap(pod, volume.name), volume, volume.defaultMode);
}

/** The files of a secret volume. */
export function collectSecret(volume: SecretVolume, { pod, objects }: FileFacts): ContentPayload {
  const { secretName, defaultMode } = volume;
  return filesOf('secret', objects.findSecret(pod, secretName), { ...volume, name: secretName }, defaultMode);
}

/** The files of a downwardAPI volume. */
export function collectDownward(
  items: readonly DownwardApiFile[] = [],
  defaultMode: number = DEFAULT_MODE,
  facts: FileFacts,
): ContentPayload {
  const files = new Map<string, ContentFile>();
  for (const item of items) {
    files.set(item.path, {
      data: Buffer.from(downwardValue(item, facts)),
      mode: item.mode ?? defaultMode,
    });
  }
  return files;
}

/** The files of a projected volume; the later one of two with the same path wins. */
export function collectProjected(
  { sources = [], defaultMode = DEFAULT_MODE }: ProjectedVolume,
  facts: FileFacts,
): ContentPayload {
  const files = new Map<string, ContentFile>();
  const problems = new Set<string>();
  for (const source of sources) {
    try {
      for (const [path, file] of collectSource(source, defaultMode, facts)) files.set(path, file);
    } catch (error) {
      problems.add(messageOf(error));
    }
  }
  if (problems.size === 0) return files;
  const [first, ...others] = problems;
  throw new Error(others.length === 0 ? first! : `[${[...problems].join(', ')}]`);
}

function collectSource(
  { configMap, secret, downwardAPI, serviceAccountToken, ...others }: VolumeProjection,
  defaultMode: number,
  facts: FileFacts,
): ContentPayload {
  const [foreign] = Object.keys(others);
  if (foreign !== undefined)
    throw new Error(`projections of the kind ${foreign} are not supported by podloop`);
  const { pod, objects } = facts;
  if (secret !== undefined) {
    return filesOf('secret', objects.findSecret(pod, secret.name), secret, defaultMode);
  }
  if (configMap !== undefined) {
    return filesOf('configmap', objects.findConfigMap(pod, configMap.name), configMap, defaultMode);
  }
  if (serviceAccountToken !== undefined) return collectToken(serviceAccountToken, defaultMode, facts);
  return collectDownward(downwardAPI?.items, defaultMode, facts);
}

/** Owned like a kubelet's: by the common user of all containers and by the pod's group, if any. */
function collectToken(
  projection: ServiceAccountTokenProjection,
  defaultMode: number,
  { pod, tokens }: FileFacts,
): ContentPayload {
  const token = tokens?.get(projection);
  if (token === undefined) throw new Error('there is no API server to give a token of the service account');
  const uid = findSharedUser(pod);
  const isOwned = uid !== undefined || pod.spec.securityContext?.fsGroup !== undefined;
  const mode = isOwned ? TOKEN_MODE : defaultMode;
  return new Map([[projection.path, { data: Buffer.from(token), mode, uid }]]);
}

/** The user that every container of the pod has to run as; undefined when they differ, or one names none. */
function findSharedUser({ spec }: NodePod): number | undefined {
  const containers = [...(spec.initContainers ?? []), ...spec.containers];
  const users = containers.map(
    ({ securityContext }) => securityContext?.runAsUser ?? spec.securityContext?.runAsUser,
  );
  return users.every((user) => user === users[0]) ? users[0] : undefined;
}

function filesOf(
  kind: 'configmap' | 'secret',
  object: ConfigObject | undefined,
  { name, items = [], optional = false }: ObjectProjection,
  defaultMode: number = DEFAULT_MODE,
): ContentPayload {
  if (object === undefined) {
    if (optional) return new Map();
    throw new Error(`${kind} "${name}" not found`);
  }
  const entries = entriesOf(object);
  if (items.length === 0) {
    return new Map([...entries].map(([key, data]) => [key, { data, mode: defaultMode }]));
  }
  return new Map(items.flatMap((item) => toFile(item)));

  function toFile({ key, path, mode = defaultMode }: KeyToPath): [string, ContentFile][] {
    const data = entries.get(key);
    if (data !== undefined) return [[path, { data, mode }]];
    if (optional) return [];
    const what = kind === 'secret' ? 'secret' : 'config';
    throw new Error(`references non-existent ${what} key: ${key}`);
  }
}

function entriesOf(object: ConfigMap | Secret): ReadonlyMap<string, Uint8Array> {
  if (object.kind === 'Secret') return object.data;
  const texts = [...object.data].map(([key, text]): [string, Uint8Array] => [key, Buffer.from(text)]);
  return new Map([...texts, ...object.binaryData]);
}

function downwardValue(
  { fieldRef, resourceFieldRef }: DownwardApiFile,
  { pod, downward }: FileFacts,
): string {
  if (fieldRef !== undefined) return fieldValue(pod, fieldRef.fieldPath, downward);
  // Manifests are validated: one of the two is set.
  const selector = resourceFieldRef!;
  const container = selectContainer(pod, selector);
  if (container === undefined) throw new Error(`container ${selector.containerName ?? ''} not found`);
  return resourceValue(withPodLimits(pod.spec, container), selector, downward);
}
