import { type ConfigObject } from '#kube/objects/config-object.js';
import { checkConfigObjectUpdate } from '#kube/objects/config-object-update.js';
import {
  fromV1ConfigObject,
  toV1ConfigObject,
  type V1ConfigObject,
} from '#kube/objects/config-object-json.js';
import { formatFieldPath } from '#kube/fields/field-path.js';
import { formatValue } from '#kube/fields/field-problem.js';
import { type ManifestPlace, type ManifestProblem } from './manifest-problem.js';
import { type ManifestObject } from './manifest-reader.js';

/** A ConfigMap or Secret of a source. */
export interface SourceObject {
  readonly object: ConfigObject;
  /** The object in JSON on one line: what is kept of it, and what versions are told apart by. */
  readonly written: string;
  readonly place: ManifestPlace;
}

/** Makes an object that was read one of a source. */
export function toSourceObject({ object, place }: ManifestObject): SourceObject {
  return { object, written: JSON.stringify(toV1ConfigObject(object)), place };
}

/** The way back from what was kept. Throws when that is none. */
export function restoreSourceObject(written: string, place: ManifestPlace): SourceObject {
  const object = fromV1ConfigObject(JSON.parse(written) as V1ConfigObject);
  return { object, written, place };
}

/** `ConfigMap default/web`. */
export function objectName({ kind, metadata }: ConfigObject): string {
  return `${kind} ${metadata.namespace}/${metadata.name}`;
}

/** The objects of a file, {@link keepObjects} says which. */
export interface KeptObjects {
  readonly objects: readonly SourceObject[];
  /** Names of those that are not from the new reading. */
  readonly kept: readonly string[];
  /** Of changes that Kubernetes would refuse. */
  readonly problems: readonly ManifestProblem[];
}

/**
 * The objects that a file stands for: those that were read, and, when something is wrong with the file, those that it
 * had before and that were not read now. Pure.
 *
 * Of one that may not change as it did the version before stays.
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
    const refusals = old === undefined ? [] : checkConfigObjectUpdate(old.object, each.object);
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

/** An object stands elsewhere already. */
export function objectTwinProblem({ object, place }: ManifestObject, first: ManifestPlace): ManifestProblem {
  const { kind, metadata } = object;
  return {
    ...{ ...place, kind: 'duplicate', path: 'metadata.name' },
    message: `Duplicate value: ${formatValue(metadata.name)}: the ${kind} stands at ${first.file}:${first.line} already`,
    ...{ pod: '', namespace: '' },
  };
}
