import { formatValue } from '#kube/fields/field-problem.js';
import { fullName } from '../arbitrate-pods.js';
import { type ManifestPlace, type ManifestProblem } from '../manifests/manifest-problem.js';
import { objectName, objectTwinProblem, type SourceObject } from '../manifests/source-object.js';
import { type SourcePod } from '../manifests/source-pod.js';

/** A pod, ConfigMap or Secret of a file. */
export type Held = SourcePod | SourceObject;

/** `default/web-node`, `ConfigMap default/web`. */
export function heldName(held: Held): string {
  return 'pod' in held ? fullName(held.pod) : objectName(held.object);
}

/** The keys that only one item may have at a time; the more important one first. Pure. */
export function heldKeys(held: Held): readonly string[] {
  return 'pod' in held ? [`Pod ${heldName(held)}`, `uid ${held.pod.metadata.uid}`] : [heldName(held)];
}

/** The contents of files together. */
export interface MergedHeld<Each extends Held> {
  /** In the order of the files. */
  readonly held: readonly Each[];
  /** One for each item that another one excludes, in the same order; the item is left out. */
  readonly problems: readonly ManifestProblem[];
}

/**
 * Merges the contents of files. Pure.
 *
 * Of two items with the same {@link heldKeys key} the one with the lowest rank stays, or the first of equal
 * ones.
 */
export function mergeHeld<Each extends Held>(
  files: Iterable<readonly Each[]>,
  rankOf: (each: Each) => number = () => 0,
): MergedHeld<Each> {
  const all = [...files].flat();
  const byKey = new Map<string, Each>();
  const refused = new Map<Each, ManifestProblem>();
  const turns = all.map((each) => ({ each, rank: rankOf(each) })).sort((one, other) => one.rank - other.rank);
  for (const { each } of turns) {
    const keys = heldKeys(each);
    const taken = keys.find((key) => byKey.has(key));
    if (taken === undefined) for (const key of keys) byKey.set(key, each);
    else refused.set(each, twinProblem(each, byKey.get(taken)!.place, taken));
  }
  return {
    held: all.filter((each) => !refused.has(each)),
    problems: all.flatMap((each) => refused.get(each) ?? []),
  };
}

function twinProblem(held: Held, first: ManifestPlace, key: string): ManifestProblem {
  if (!('pod' in held)) return objectTwinProblem(held, first);
  const { name, pod, place } = held;
  const by = key === heldKeys(held)[0] ? 'name' : 'uid';
  const value = by === 'uid' ? pod.metadata.uid : name;
  return {
    ...{ ...place, kind: 'duplicate', path: `metadata.${by}` },
    message: `Duplicate value: ${formatValue(value)}: stands at ${first.file}:${first.line} already`,
    ...{ pod: name, namespace: pod.metadata.namespace },
  };
}
