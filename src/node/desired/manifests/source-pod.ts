import { type NodePod } from '#kube/pod/node-pod.js';
import { type StaticPodOrigin, toStaticPod } from '#kube/pod/static-pod.js';
import { formatFieldPath } from '#kube/fields/field-path.js';
import { validateNewPod } from '#kube/validation/validate-new-pod.js';
import { fullName } from '../arbitrate-pods.js';
import { type ManifestPod } from './manifest-reader.js';
import { type ManifestPlace, type ManifestProblem } from './manifest-problem.js';
import { type SourceObject } from './source-object.js';

/** A pod of a source: as it was written, as the node runs it, and where it is written. */
export interface SourcePod {
  /** metadata.name as written. */
  readonly name: string;
  /** The pod as written, in JSON on one line: it is only kept, and text is cheap to hand from thread to thread. */
  readonly written: string;
  readonly pod: NodePod;
  readonly place: ManifestPlace;
  /** What of the manifest is not in the pod, as a cluster had put it there; absent where nothing is. */
  readonly leftOut?: readonly string[];
}

/** Makes a pod that was written a pod of the node. */
export function toSourcePod(
  { pod: written, place, leftOut = [] }: Pick<ManifestPod, 'pod' | 'place'> & Partial<ManifestPod>,
  origin: Pick<StaticPodOrigin, 'source' | 'nodeName'>,
): SourcePod {
  const { pod } = toStaticPod(written, origin);
  const own = { name: written.metadata.name, written: JSON.stringify(written), pod, place };
  return leftOut.length === 0 ? own : { ...own, leftOut };
}

/** What was made of a file or body. */
export interface ParsedManifest {
  readonly pods: readonly SourcePod[];
  readonly objects: readonly SourceObject[];
  /** While there are any, nothing of it is known to be gone. */
  readonly problems: readonly ManifestProblem[];
}

/** The pods of a file, {@link keepPods} says which. */
export interface KeptPods {
  readonly pods: readonly SourcePod[];
  /** Full names of those that are not from the new reading. */
  readonly kept: readonly string[];
}

/**
 * The pods that a file stands for: those that were read, and, when something is wrong with the file, those that it had
 * before and that were not read now. Pure.
 *
 * Nobody can tell for sure which pod a broken object was to be, so that no absence in such a file is believed.
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
 * Leaves out pods that are new and have what only an edit may bring. Pure.
 *
 * `isKnown`: a version of the pod has been taken before, by this agent or one before it. Asked only about such pods.
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
