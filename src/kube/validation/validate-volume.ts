import { posix } from 'node:path';
import { type Container, type VolumeMount } from '../container/container.js';
import { type Draft, entriesOf } from '../fields/draft.js';
import { type FieldPath } from '../fields/field-path.js';
import { duplicate, forbidden, invalid, notFound, required } from '../fields/field-problem.js';
import {
  checkConfigKey,
  checkDescendingPath,
  checkLabel,
  checkNoBacksteps,
  checkNoNul,
  checkSubdomain,
} from './name-rules.js';
import { inRange, type ProblemList } from './problem-list.js';
import { getQuantity } from '../fields/quantity.js';
import { exactlyOne, validateFileFieldRef, validateResourceFieldRef } from './validate-env.js';
import { type DownwardApiFile, type KeyToPath, type Volume, type VolumeProjection } from '../pod/volume.js';

const SOURCES = [
  ...(['emptyDir', 'hostPath', 'configMap', 'secret', 'downwardAPI', 'projected'] as const),
  ...(['persistentVolumeClaim', 'image'] as const),
] as const;
const mode = inRange(0, 0o777);
const emptyDirMode = inRange(0, 0o1777);

/** Validates the volumes of a pod. */
export function validateVolumes(
  volumes: readonly (Draft<Volume> | undefined)[] | undefined,
  path: FieldPath,
  list: ProblemList,
): void {
  const names = new Set<string>();
  for (const [index, volume] of entriesOf(volumes)) {
    const place = [...path, index];
    list.check([...place, 'name'], volume.name, checkLabel);
    if (volume.name !== undefined) {
      if (names.has(volume.name)) list.add(duplicate([...place, 'name'], volume.name));
      names.add(volume.name);
    }
    // No source means an emptyDir. Of several, Kubernetes rejects all but the first in a fixed order, as here.
    const [first, ...others] = SOURCES.filter((source) => volume[source] !== undefined);
    for (const name of others)
      list.add(forbidden([...place, name], `there is ${first!} already; only one may be set`));
    validateSource(volume, place, list);
  }
}

function validateSource(volume: Draft<Volume>, path: FieldPath, list: ProblemList): void {
  const { emptyDir, hostPath, configMap, secret, downwardAPI, projected, persistentVolumeClaim } = volume;
  const claim = persistentVolumeClaim?.claimName;
  list.check([...path, 'persistentVolumeClaim', 'claimName'], claim, checkSubdomain);
  list.check([...path, 'emptyDir', 'sizeLimit'], emptyDir?.sizeLimit, (size) =>
    getQuantity(size).nanos < 0n ? 'must not be negative' : undefined,
  );
  list.check([...path, 'emptyDir', 'mode'], emptyDir?.mode, emptyDirMode);
  list.check(
    [...path, 'hostPath', 'path'],
    hostPath?.path,
    (text) => checkNoBacksteps(text) ?? checkNoNul(text),
  );
  list.check([...path, 'configMap', 'name'], configMap?.name, checkSubdomain);
  list.check([...path, 'secret', 'secretName'], secret?.secretName, checkSubdomain);
  for (const name of ['configMap', 'secret', 'downwardAPI', 'projected'] as const) {
    list.check([...path, name, 'defaultMode'], volume[name]?.defaultMode, mode);
  }
  validateItems(configMap?.items, [...path, 'configMap', 'items'], list);
  validateItems(secret?.items, [...path, 'secret', 'items'], list);
  validateFiles(downwardAPI?.items, [...path, 'downwardAPI', 'items'], list);
  const taken = new Set<string>();
  for (const [index, source] of entriesOf(projected?.sources)) {
    validateProjection(source, [...path, 'projected', 'sources', index], list);
    findConflicts(source, [...path, 'projected', 'sources', index], taken, list);
  }
}

/** Two items of a projected volume cannot have the same path, whatever their sources. */
function findConflicts(
  { configMap, secret, downwardAPI }: Draft<VolumeProjection>,
  path: FieldPath,
  taken: Set<string>,
  list: ProblemList,
): void {
  for (const [name, source] of Object.entries({ configMap, secret, downwardAPI })) {
    for (const [index, { path: file }] of entriesOf<Draft<{ readonly path: string }>>(source?.items)) {
      if (file === undefined) continue;
      const place = [...path, name, 'items', index, 'path'];
      if (taken.has(posix.normalize(file))) list.add(invalid(place, file, 'conflicting duplicate paths'));
      taken.add(posix.normalize(file));
    }
  }
}

function validateProjection(source: Draft<VolumeProjection>, path: FieldPath, list: ProblemList): void {
  exactlyOne(source, ['configMap', 'secret', 'downwardAPI'], path, list);
  for (const name of ['configMap', 'secret'] as const) {
    list.check([...path, name, 'name'], source[name]?.name, checkSubdomain);
    validateItems(source[name]?.items, [...path, name, 'items'], list);
  }
  validateFiles(source.downwardAPI?.items, [...path, 'downwardAPI', 'items'], list);
}

function validateItems(
  items: readonly (Draft<KeyToPath> | undefined)[] | undefined,
  path: FieldPath,
  list: ProblemList,
): void {
  for (const [index, item] of entriesOf(items)) {
    list.check([...path, index, 'key'], item.key, checkConfigKey);
    validateFilePath(item.path, [...path, index, 'path'], list);
    list.check([...path, index, 'mode'], item.mode, mode);
  }
}

function validateFiles(
  files: readonly (Draft<DownwardApiFile> | undefined)[] | undefined,
  path: FieldPath,
  list: ProblemList,
): void {
  for (const [index, file] of entriesOf(files)) {
    const place = [...path, index];
    validateFilePath(file.path, [...place, 'path'], list);
    list.check([...place, 'mode'], file.mode, mode);
    exactlyOne(file, ['fieldRef', 'resourceFieldRef'], place, list);
    if (file.fieldRef !== undefined) validateFileFieldRef(file.fieldRef, [...place, 'fieldRef'], list);
    if (file.resourceFieldRef === undefined) continue;
    const { containerName } = file.resourceFieldRef;
    if (containerName === undefined) list.add(required([...place, 'resourceFieldRef', 'containerName']));
    validateResourceFieldRef(file.resourceFieldRef, [...place, 'resourceFieldRef'], list);
  }
}

/**
 * Validates the path of a file below a volume.
 *
 * It must not begin with `..`, as the names for swapping files do.
 */
function validateFilePath(text: string | undefined, path: FieldPath, list: ProblemList): void {
  list.check(path, text, (file) =>
    // Checked after normalization too: "./..data" is the link by which the files are swapped.
    file.startsWith('..') || posix.normalize(file).startsWith('..')
      ? 'must not begin with ".."'
      : checkDescendingPath(file),
  );
}

/** Validates the mounts of a container. `volumes` are the names of the pod's volumes. */
export function validateVolumeMounts(
  container: Draft<Container>,
  volumes: ReadonlySet<string>,
  path: FieldPath,
  list: ProblemList,
): void {
  const places = new Set<string>();
  for (const [index, mount] of entriesOf(container.volumeMounts)) {
    const place = [...path, index];
    if (mount.name !== undefined && !volumes.has(mount.name))
      list.add(notFound([...place, 'name'], mount.name));
    if (mount.mountPath !== undefined) {
      if (places.has(mount.mountPath))
        list.add(invalid([...place, 'mountPath'], mount.mountPath, 'must be unique in the container'));
      places.add(mount.mountPath);
      list.check([...place, 'mountPath'], mount.mountPath, checkNoNul);
    }
    validateSubPath(mount, place, list);
    const isPrivileged = container.securityContext?.privileged === true;
    if (mount.mountPropagation === 'Bidirectional' && !isPrivileged)
      list.add(forbidden([...place, 'mountPropagation'], 'Bidirectional is for privileged containers only'));
    validateRecursiveReadOnly(mount, [...place, 'recursiveReadOnly'], list);
  }
}

function validateRecursiveReadOnly(
  { readOnly, recursiveReadOnly = 'Disabled', mountPropagation = 'None' }: Draft<VolumeMount>,
  path: FieldPath,
  list: ProblemList,
): void {
  if (recursiveReadOnly === 'Disabled') return;
  if (readOnly !== true) list.add(forbidden(path, 'may only be specified when readOnly is true'));
  if (mountPropagation !== 'None')
    list.add(forbidden(path, 'may only be specified when mountPropagation is None or not specified'));
}

function validateSubPath(
  { subPath, subPathExpr }: Draft<VolumeMount>,
  path: FieldPath,
  list: ProblemList,
): void {
  list.check([...path, 'subPath'], subPath, checkDescendingPath);
  list.check([...path, 'subPathExpr'], subPathExpr, checkDescendingPath);
  if (subPath === undefined || subPathExpr === undefined) return;
  list.add(forbidden([...path, 'subPathExpr'], 'there is subPath already; only one may be set'));
}
