/**
 * Adds ephemeral containers to a pod that runs, beside its manifest.
 *
 * In: the pod, and the whole list of its ephemeral containers as a client wants it. Out: a record that has those which
 * are new (debug-containers.ts). The rules and their words are those of an API server: a list is checked as part of its
 * pod, and what is in it already can neither be changed nor be removed.
 *
 * @module
 */
import { isDeepStrictEqual } from 'node:util';
import { type EphemeralContainer } from '#kube/container/container.js';
import { formatFieldPath } from '#kube/fields/field-path.js';
import { type FieldProblem, forbidden, formatFieldProblem } from '#kube/fields/field-problem.js';
import { findForbidden, type NodePolicy } from '#kube/node/node-policy.js';
import { manifestUidOf, type NodePod } from '#kube/pod/node-pod.js';
import { applyPodDefaults } from '#kube/pod/pod-defaults.js';
import { readPod } from '#kube/pod/read-pod.js';
import { isClusterPod } from '#kube/pod/static-pod.js';
import { messageOf } from '#base/errors/errors.js';
import { ApiError, invalidError } from '../../api/http/api-error.js';
import { refusal } from '../../api/objects/apply-object.js';
import { type DebugPod } from '../../api/objects/ephemeral-containers.js';
import { type DesiredPods } from '../../pods/loop/desired-pods.js';
import { type DebugContainers } from '../debug-containers.js';
import { toCause } from './apply-manifest.js';
import { type WritableManifests } from './writable-manifests.js';

/** What {@link debugPods} needs. */
export interface DebugPodsPorts {
  readonly debugged: Pick<DebugContainers, 'add'>;
  readonly desired: Pick<DesiredPods, 'find'>;
  readonly manifests: Pick<WritableManifests, 'untilSeen'>;
  /** What pods may not ask for here. */
  readonly policy: NodePolicy;
  /** Nothing new starts any more. */
  readonly isEnding: () => boolean;
}

const PATH = ['spec', 'ephemeralContainers'] as const;

/** See the module. */
export function debugPods(ports: DebugPodsPorts): DebugPod {
  const { debugged, desired, manifests, policy, isEnding } = ports;
  return async (served, list, { isDryRun, signal }) => {
    const { pod, deletion } = served;
    const { name, uid } = pod.metadata;
    if (isEnding()) throw new ApiError('ServiceUnavailable', 'the agent is ending');
    if (isClusterPod(pod)) {
      const why = 'it belongs to the cluster that this node is part of; use "kubectl debug" there';
      throw refusal('pods', name, 'Forbidden', why);
    }
    if (deletion !== undefined) throw refusal('pods', name, 'Conflict', 'it is being deleted');
    const containers = readContainers(pod, list, policy);
    const before = new Set(namesOf(pod.spec.ephemeralContainers));
    const added = containers.filter((each) => !before.has(each.name));
    const changed = { ...served, pod: { ...pod, spec: { ...pod.spec, ephemeralContainers: containers } } };
    if (isDryRun || added.length === 0) return changed;
    const outcome = await debugged.add(pod, added).catch((error: unknown) => {
      const message = `no container was added, as this cannot be written to the disk: ${messageOf(error)}`;
      throw new ApiError('InternalError', message, undefined, { cause: error });
    });
    if (outcome === 'gone') throw refusal('pods', name, 'Conflict', 'its manifest is gone');
    if (outcome === 'taken')
      throw refusal('pods', name, 'Conflict', 'somebody else has just added another container of that name');
    await manifests.untilSeen(() => {
      const seen = new Set(namesOf(desired.find(uid)?.spec.ephemeralContainers));
      return added.every((each) => seen.has(each.name));
    }, signal);
    const now = desired.find(uid);
    return now === undefined || manifestUidOf(now.metadata) !== manifestUidOf(pod.metadata)
      ? changed
      : { ...served, pod: now };
  };
}

/** The containers with defaults. Throws an ApiError with everything that is wrong with them. */
function readContainers(
  pod: NodePod,
  list: readonly unknown[],
  policy: NodePolicy,
): readonly EphemeralContainer[] {
  const { metadata, spec } = pod;
  const { name, namespace } = metadata;
  const value = {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace } },
    spec: { ...spec, ephemeralContainers: list },
  };
  const reading = readPod(value);
  if (reading.pod === undefined) throw invalid(name, reading.problems);
  const { spec: full } = applyPodDefaults(reading.pod);
  const containers = full.ephemeralContainers ?? [];
  const conflicts = findConflicts(spec.ephemeralContainers ?? [], containers);
  if (conflicts.length > 0) throw invalid(name, conflicts);
  const problems = findForbidden({ ...pod, spec: { ...spec, ephemeralContainers: containers } }, policy);
  if (problems.length === 0) return containers;
  throw refusal('pods', name, 'Forbidden', problems.map(formatFieldProblem).join('; '));
}

function findConflicts(
  before: readonly EphemeralContainer[],
  after: readonly EphemeralContainer[],
): FieldProblem[] {
  return before.flatMap((old) => {
    const next = after.find(({ name }) => name === old.name);
    const what = `existing ephemeral containers ${JSON.stringify(old.name)}`;
    if (next === undefined) return [forbidden(PATH, `${what} may not be removed`)];
    return isDeepStrictEqual(old, next) ? [] : [forbidden(PATH, `${what} may not be changed`)];
  });
}

function invalid(name: string, problems: readonly FieldProblem[]): ApiError {
  const causes = problems.map((each) => toCause({ ...each, path: formatFieldPath(each.path) }));
  return invalidError('Pod', name, causes);
}

function namesOf(containers: readonly EphemeralContainer[] = []): string[] {
  return containers.map(({ name }) => name);
}
