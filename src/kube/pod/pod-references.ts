import { type Container } from '../container/container.js';
import { type ConfigObject } from '../objects/config-object.js';
import { type FieldPath } from '../fields/field-path.js';
import { type Pod } from './pod.js';
import { type VolumeProjection } from './volume.js';

/** A field of a pod that names a ConfigMap or Secret. */
export interface PodReference {
  readonly kind: ConfigObject['kind'];
  readonly name: string;
  /** The required entries; undefined for the object as a whole. */
  readonly keys: readonly string[] | undefined;
  /** The pod runs without it, too. */
  readonly optional: boolean;
  /** It is only for pulling images, and does not delay the pod. */
  readonly isForPull: boolean;
  /** The field with the name. */
  readonly path: FieldPath;
}

/** Every reference in a pod, in the order of its fields. Pure; the same object may occur several times. */
export function podReferences({ spec }: Pod): PodReference[] {
  const { volumes = [], initContainers = [], containers, ephemeralContainers = [] } = spec;
  return [
    ...(spec.imagePullSecrets ?? []).map((secret, index) => ({
      ...wholeOf('Secret', secret, ['spec', 'imagePullSecrets', index, 'name']),
      isForPull: true,
    })),
    ...volumes.flatMap((volume, index) => {
      const { configMap, secret, projected } = volume;
      const at = ['spec', 'volumes', index];
      const sources = projected?.sources ?? [];
      return [
        ...(configMap === undefined ? [] : [filesOf('ConfigMap', configMap, [...at, 'configMap', 'name'])]),
        ...(secret === undefined
          ? []
          : [filesOf('Secret', { ...secret, name: secret.secretName }, [...at, 'secret', 'secretName'])]),
        ...sources.flatMap((source, part) => projectedBy(source, [...at, 'projected', 'sources', part])),
      ];
    }),
    ...initContainers.flatMap((container, index) =>
      referencesOf(container, ['spec', 'initContainers', index]),
    ),
    ...containers.flatMap((container, index) => referencesOf(container, ['spec', 'containers', index])),
    ...ephemeralContainers.flatMap((container, index) =>
      referencesOf(container, ['spec', 'ephemeralContainers', index]),
    ),
  ];
}

/** The references of the files in the pod's volumes. Pure. */
export function volumeReferences(pod: Pod): PodReference[] {
  return podReferences(pod).filter(({ path }) => path[1] === 'volumes');
}

/** The references of a container's variables and of its image pull. Pure. */
export function containerReferences(pod: Pod, container: Container): PodReference[] {
  const logins = podReferences(pod).filter(({ isForPull }) => isForPull);
  return [...referencesOf(container, ['spec', 'containers']), ...logins];
}

type Variables = Pick<Container, 'env' | 'envFrom'>;

/** The references of a container's variables. */
function referencesOf({ envFrom = [], env = [] }: Variables, path: FieldPath): PodReference[] {
  return [
    ...envFrom.flatMap(({ configMapRef, secretRef }, index) => {
      const at = [...path, 'envFrom', index];
      return [
        ...(configMapRef === undefined
          ? []
          : [wholeOf('ConfigMap', configMapRef, [...at, 'configMapRef', 'name'])]),
        ...(secretRef === undefined ? [] : [wholeOf('Secret', secretRef, [...at, 'secretRef', 'name'])]),
      ];
    }),
    ...env.flatMap(({ valueFrom }, index) => {
      const { configMapKeyRef, secretKeyRef } = valueFrom ?? {};
      const at = [...path, 'env', index, 'valueFrom'];
      return [
        ...(configMapKeyRef === undefined
          ? []
          : [keyOf('ConfigMap', configMapKeyRef, [...at, 'configMapKeyRef', 'name'])]),
        ...(secretKeyRef === undefined
          ? []
          : [keyOf('Secret', secretKeyRef, [...at, 'secretKeyRef', 'name'])]),
      ];
    }),
  ];
}

function projectedBy({ configMap, secret }: VolumeProjection, path: FieldPath): PodReference[] {
  return [
    ...(configMap === undefined ? [] : [filesOf('ConfigMap', configMap, [...path, 'configMap', 'name'])]),
    ...(secret === undefined ? [] : [filesOf('Secret', secret, [...path, 'secret', 'name'])]),
  ];
}

type Kind = PodReference['kind'];

interface Named {
  readonly name: string;
  readonly optional?: boolean;
}

function wholeOf(kind: Kind, { name, optional = false }: Named, path: FieldPath): PodReference {
  return { kind, name, keys: undefined, optional, isForPull: false, path };
}

function keyOf(kind: Kind, selector: Named & { readonly key: string }, path: FieldPath): PodReference {
  return { ...wholeOf(kind, selector, path), keys: [selector.key] };
}

function filesOf(
  kind: Kind,
  files: Named & { readonly items?: readonly { readonly key: string }[] },
  path: FieldPath,
): PodReference {
  return { ...wholeOf(kind, files, path), keys: files.items?.map(({ key }) => key) };
}
