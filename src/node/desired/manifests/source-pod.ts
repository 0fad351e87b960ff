import { type NodePod } from '#kube/pod/node-pod.js';
import { type StaticPodOrigin, toStaticPod } from '#kube/pod/static-pod.js';
import { formatFieldPath } from '#kube/fields/field-path.js';
import { validateNewPod } from '#kube/validation/validate-new-pod.js';
import { fullName } from '../arbitrate-pods.js';
import { type ManifestPod } from './manifest-reader.js';
import { type ManifestPlace, type ManifestProblem } from './manifest-problem.js';
import { type SourceObject } from './source-object.js';

/** A pod of a source: as written, as the node runs it, and where it is written. */
export interface SourcePod {
  /** metadata.name as written. */
  readonly name: string;
  /**
   * The pod as written, in JSON on one line: it is only stored, and text is cheap to pass between threads.
   */
  readonly written: string;
  readonly pod: NodePod;
  readonly place: ManifestPlace;
  /**
   * Fields of the manifest that are not in the pod, as a cluster had added them; absent if there are none.
   */
  readonly leftOut?: readonly string[];
}

/** Turns a written pod into a pod of the node. */
export function toSourcePod(
  { pod: written, place, leftOut = [] }: Pick<ManifestPod, 'pod' | 'place'> & Partial<ManifestPod>,
  origin: Pick<StaticPodOrigin, 'source' | 'nodeName'>,
): SourcePod {
  const { pod } = toStaticPod(written, origin);
  const own = { name: written.metadata.name, written: JSON.stringify(written), pod, place };
  return leftOut.length === 0 ? own : { ...own, leftOut };
}

/** The result of parsing a file or body. */
export interface ParsedManifest {
  readonly pods: readonly SourcePod[];
  readonly objects: readonly SourceObject[];
  /** While there are any, nothing counts as removed. */
  readonly problems: readonly ManifestProblem[];
}

/** The pods of a file, as {@link keepPods} selects them. */
export interface KeptPods {
  readonly pods: readonly SourcePod[];
  /** Full names of those that are not from the new version. */
  readonly kept: readonly string[];
}

/**
 * The present pods of a file: the parsed ones, and if the file has problems, also its earlier ones. Pure.
 *
 * Nobody can know which pod a broken object was meant to be, so no absence in such a file counts.
 */
export function keepPods(
  before: readonly SourcePod[],
  { pods, problems }: Pick<ParsedManifest, 'pods' | 'problems'>,
): KeptPods {
  if (problems.length === 0) return { pods, kept: [] };
  const left = before.filter((old) => !pods.some((read) => clashOf(old, read) !== undefined));
  return { pods: [...pods, ...left], kept: left.map(({ pod }) => fullName(pod)) };
}

/**
 * Leaves out new pods with fields that only an edit may add. Pure.
 *
 * `isKnown`: a version of the pod was accepted before, by this agent or an earlier one. Called only for such
 * pods.
 */
export function refuseNewPods(
  manifest: ParsedManifest,
  isKnown: (pod: NodePod) => boolean = () => false,
): ParsedManifest {
  const problems = manifest.pods.map(({ pod, name, place }) => {
    const found = validateNewPod(pod);
    if (found.length === 0 || isKnown(pod)) return [];
    return found.map(({ kind, path, message }): ManifestProblem => ({
      ...{ ...place, kind, path: formatFieldPath(path), message },
      ...{ pod: name, namespace: pod.metadata.namespace },
    }));
  });
  if (problems.every(({ length }) => length === 0)) return manifest;
  return {
    ...manifest,
    pods: manifest.pods.filter((_, at) => problems[at]!.length === 0),
    problems: [...manifest.problems, ...problems.flat()],
  };
}

function clashOf(one: SourcePod, other: SourcePod): 'name' | 'uid' | undefined {
  if (fullName(one.pod) === fullName(other.pod)) return 'name';
  return one.pod.metadata.uid === other.pod.metadata.uid ? 'uid' : undefined;
}
