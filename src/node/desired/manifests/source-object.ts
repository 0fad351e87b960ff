import { type ConfigObject } from '#kube/objects/config-object.js';
import { checkConfigObjectUpdate } from '#kube/objects/config-object-update.js';
import {
  fromV1ConfigObject,
  toV1ConfigObject,
  type V1ConfigObject,
} from '#kube/objects/config-object-json.js';
import { formatFieldPath } from '#kube/fields/field-path.js';
import { type FieldProblem, formatValue } from '#kube/fields/field-problem.js';
import { type ManifestPlace, type ManifestProblem } from './manifest-problem.js';
import { isWorkloadKind, type Workload } from '#kube/workloads/workload.js';
import { checkWorkloadUpdate } from '#kube/workloads/workload-update.js';
import { type ManifestObject, type WrittenObject } from './manifest-reader.js';

/** A ConfigMap, a Secret or a workload of a source. */
export interface SourceObject {
  readonly object: WrittenObject;
  /** The object in JSON on one line: for storage, and to compare versions. */
  readonly written: string;
  readonly place: ManifestPlace;
}

/** Turns a parsed object into one of a source. */
export function toSourceObject({ object, place }: Pick<ManifestObject, 'object' | 'place'>): SourceObject {
  return { object, written: JSON.stringify(toPlainObject(object)), place };
}

/** The object in JSON. */
export function toPlainObject(object: WrittenObject): V1ConfigObject | Workload {
  return isConfigObject(object) ? toV1ConfigObject(object) : object;
}

/** Whether an object is what pods find by its name as variables or files. */
export function isConfigObject(object: WrittenObject): object is ConfigObject {
  return !isWorkloadKind(object.kind);
}

/** Restores a stored object. Throws when it is invalid. */
export function restoreSourceObject(written: string, place: ManifestPlace): SourceObject {
  const plain = JSON.parse(written) as V1ConfigObject | Workload;
  // It was validated before it was stored.
  const object = isWorkloadKind(plain.kind)
    ? (plain as Workload)
    : fromV1ConfigObject(plain as V1ConfigObject);
  return { object, written, place };
}

/** `ConfigMap default/web`. */
export function objectName({ kind, metadata }: WrittenObject): string {
  return `${kind} ${metadata.namespace}/${metadata.name}`;
}

/** The objects of a file, as {@link keepObjects} selects them. */
export interface KeptObjects {
  readonly objects: readonly SourceObject[];
  /** Names of those that are not from the new version. */
  readonly kept: readonly string[];
  /** Problems of changes that Kubernetes would refuse. */
  readonly problems: readonly ManifestProblem[];
}

/**
 * The present objects of a file: the parsed ones, and if the file has problems, also its earlier ones. Pure.
 *
 * An object with a forbidden change keeps its previous version.
 */
export function keepObjects(
  before: readonly SourceObject[],
  read: readonly SourceObject[],
  hasProblems: boolean,
): KeptObjects {
  if (before.length === 0) return { objects: read, kept: [], problems: [] };
  const known = new Map(before.map((each) => [objectName(each.object), each]));
  const problems: ManifestProblem[] = [];
  const objects: SourceObject[] = [];
  for (const each of read) {
    const old = known.get(objectName(each.object));
    const refusals = old === undefined ? [] : checkUpdate(old.object, each.object);
    if (refusals.length === 0) objects.push(each);
    for (const { path, ...refusal } of refusals) {
      problems.push({ ...each.place, ...refusal, path: formatFieldPath(path), pod: '', namespace: '' });
    }
  }
  if (!hasProblems && problems.length === 0) return { objects, kept: [], problems };
  const names = new Set(objects.map(({ object }) => objectName(object)));
  const left = before.filter(({ object }) => !names.has(objectName(object)));
  return { objects: [...objects, ...left], kept: left.map(({ object }) => objectName(object)), problems };
}

function checkUpdate(before: WrittenObject, next: WrittenObject): FieldProblem[] {
  if (isConfigObject(before)) return isConfigObject(next) ? checkConfigObjectUpdate(before, next) : [];
  return isConfigObject(next) ? [] : checkWorkloadUpdate(before, next);
}

/** The object already exists elsewhere. */
export function objectTwinProblem(
  { object, place }: Pick<ManifestObject, 'object' | 'place'>,
  first: ManifestPlace,
): ManifestProblem {
  const { kind, metadata } = object;
  return {
    ...{ ...place, kind: 'duplicate', path: 'metadata.name' },
    message: `Duplicate value: ${formatValue(metadata.name)}: the ${kind} stands at ${first.file}:${first.line} already`,
    ...{ pod: '', namespace: '' },
  };
}
