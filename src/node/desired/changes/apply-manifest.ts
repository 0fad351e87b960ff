import { isDeepStrictEqual } from 'node:util';
import { UNCONTROLLED_KINDS, type WorkloadControllers } from '../../workloads/index.js';
import { FILE_SOURCE } from '../sources/file-source.js';
import { type ManifestProblem, type ManifestProblemKind } from '../manifests/manifest-problem.js';
import { type ManifestReading, type WrittenObject } from '../manifests/manifest-reader.js';
import { isConfigObject } from '../manifests/source-object.js';
import { type DebugContainers } from '../debug-containers.js';
import { type StoppedPods } from '../stopped-pods.js';
import { hasSameContent } from '#kube/objects/config-object-update.js';
import { type ConfigObject } from '#kube/objects/config-object.js';
import { formatFieldProblem } from '#kube/fields/field-problem.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { STATIC_POD_ANNOTATIONS, staticPodName, toStaticPod } from '#kube/pod/static-pod.js';
import { type Service } from '#kube/workloads/workload.js';
import { isRecord } from '#base/text/is-record.js';
import { type ApiStatusCause } from '../../api/http/api-error.js';
import { type ApplyObject, type ObjectToApply } from '../../api/objects/apply-object.js';
import { type PodAdoption } from '../../pods/adoption/adopt-pods.js';
import { type DesiredPods } from '../../pods/loop/desired-pods.js';
import { explainObstacle } from './explain-obstacle.js';
import { type WritableManifests } from './writable-manifests.js';

/** What {@link applyManifests} needs. */
export interface ApplyManifestsPorts {
  readonly nodeName: string;
  readonly manifests: WritableManifests;
  readonly desired: Pick<DesiredPods, 'find' | 'all'>;
  readonly adoption: Pick<PodAdoption, 'uidOf'>;
  readonly objects: { all(): readonly { readonly source: string; readonly object: ConfigObject }[] };
  readonly workloads: Pick<WorkloadControllers, 'roots'>;
  /** All workloads and claims, those that no manifest has, too. */
  readonly served: () => readonly NamedObject[];
  readonly services: { roots(): readonly { readonly object: Service }[] };
  readonly stopped: Pick<StoppedPods, 'release' | 'list'>;
  /** Containers of pods that are in no manifest, and do not get into one when somebody edits such a pod. */
  readonly debugged: Pick<DebugContainers, 'namesAdded'>;
}

interface NamedObject {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace: string };
}

/** Adds objects to the manifests of an agent. */
export function applyManifests(ports: ApplyManifestsPorts): ApplyObject {
  const { manifests, nodeName, stopped } = ports;
  return async (given, signal) => {
    const { kind, namespace, name, isDryRun } = given;
    const value = withoutAdded(given, ports);
    const exists = { kind: 'refused', reason: 'AlreadyExists', message: '' } as const;
    const owner = kind === 'Pod' ? findPod(given, ports)?.metadata.ownerReferences?.[0] : undefined;
    // As a manifest it would be a second pod, beside the one of the workload.
    if (owner !== undefined && !given.mustBeNew) {
      const message = `it is made by ${owner.kind} ${owner.name}: change the template of the workload`;
      return { kind: 'refused', reason: 'MethodNotAllowed', message };
    }
    const writer = await manifests.open();
    if (typeof writer === 'string') {
      return { kind: 'refused', reason: 'MethodNotAllowed', message: writer };
    }
    // Nobody sees a pod that was stopped: it may be created.
    const mustBeNew = given.mustBeNew && !isStopped(given, ports);
    const outcome = await writer.apply({ kind, namespace, name }, value, {
      ...{ mustBeNew, isDryRun: isDryRun || (mustBeNew && isShown(given, ports)) },
    });
    if (outcome.kind === 'exists') return exists;
    if (outcome.kind === 'invalid') return { kind: 'invalid', causes: outcome.problems.map(toCause) };
    if (outcome.kind === 'forbidden') {
      const message = outcome.problems.map(formatFieldProblem).join('; ');
      return { kind: 'refused', reason: 'Forbidden', message };
    }
    if (outcome.kind === 'in the way') {
      const message = explainObstacle(outcome, 'change it there');
      return { kind: 'refused', reason: 'Conflict', message };
    }
    if (mustBeNew && isShown(given, ports)) return exists;
    if (!isDryRun) {
      const uid = uidOf(outcome.reading, nodeName);
      const isBack = uid !== undefined && (await stopped.release(uid));
      await manifests.untilSeen(() => isSeen(outcome.reading, ports), signal);
      // The manifest of a deleted pod may be unchanged: what starts is a new pod all the same.
      if (isBack) return { kind: 'applied', result: 'created' };
    }
    return { kind: 'applied', result: outcome.result };
  };
}

/** Whether the agent has an object of that name, from whatever source. */
function isShown(given: ObjectToApply, ports: ApplyManifestsPorts): boolean {
  const { kind, namespace, name } = given;
  if (kind === 'Pod') return findPod(given, ports) !== undefined;
  const all = [...ports.objects.all().map(({ object }) => object), ...ports.served()];
  return all.some(
    ({ kind: other, metadata }) =>
      other === kind && metadata.namespace === namespace && metadata.name === name,
  );
}

function findPod(
  { namespace, name }: ObjectToApply,
  { desired, nodeName }: ApplyManifestsPorts,
): NodePod | undefined {
  const names = [name, staticPodName(name, nodeName)];
  return [...desired.all()].find(
    ({ metadata }) => metadata.namespace === namespace && names.includes(metadata.name),
  );
}

/** A pod as it is shown has the containers that were added to it. */
function withoutAdded(given: ObjectToApply, ports: ApplyManifestsPorts): object {
  const { kind, value } = given;
  const pod = kind === 'Pod' ? findPod(given, ports) : undefined;
  const added = pod === undefined ? [] : ports.debugged.namesAdded(pod);
  const { spec } = value as { readonly spec?: unknown };
  if (added.length === 0 || !isRecord(spec) || !Array.isArray(spec['ephemeralContainers'])) return value;
  const { ephemeralContainers, ...others } = spec;
  const written = (ephemeralContainers as unknown[]).filter(
    (each) => !isRecord(each) || !added.includes(String(each['name'])),
  );
  return { ...value, spec: written.length === 0 ? others : { ...others, ephemeralContainers: written } };
}

function isStopped({ kind, namespace, name }: ObjectToApply, ports: ApplyManifestsPorts): boolean {
  const names = [name, staticPodName(name, ports.nodeName)];
  return (
    kind === 'Pod' &&
    ports.stopped
      .list()
      .some((stop) => stop.isOver && stop.namespace === namespace && names.includes(stop.name))
  );
}

function uidOf({ pods }: ManifestReading, nodeName: string): string | undefined {
  const [first] = pods;
  if (first === undefined) return undefined;
  return toStaticPod(first.pod, { source: FILE_SOURCE, nodeName }).pod.metadata.uid;
}

/** Whether the agent has read what was written. */
function isSeen({ pods, objects: written }: ManifestReading, ports: ApplyManifestsPorts): boolean {
  const { desired, adoption, objects, workloads, services, nodeName } = ports;
  const areSeen = pods.every(({ pod }) => {
    const { pod: wanted, hash } = toStaticPod(pod, { source: FILE_SOURCE, nodeName });
    const known = desired.find(adoption.uidOf(wanted.metadata.uid))?.metadata;
    const isIt = known?.annotations?.[STATIC_POD_ANNOTATIONS.manifestHash] === hash;
    return isIt && known.deletionTimestamp === undefined;
  });
  const roots: readonly WrittenObject[] = [...workloads.roots(), ...services.roots()].map(
    ({ object }) => object,
  );
  const isKnown = (object: WrittenObject): boolean => {
    if (isConfigObject(object)) return objects.all().some((known) => hasSameContent(known.object, object));
    // Of claims and of what only a cluster has nothing is waited for.
    return UNCONTROLLED_KINDS.has(object.kind) || roots.some((root) => isDeepStrictEqual(root, object));
  };
  return areSeen && written.every(({ object }) => isKnown(object));
}

/** In the words of an API server. */
const REASONS: Partial<Record<ManifestProblemKind, string>> = {
  required: 'FieldValueRequired',
  duplicate: 'FieldValueDuplicate',
  'unsupported-value': 'FieldValueNotSupported',
  'not-found': 'FieldValueNotFound',
  forbidden: 'FieldValueForbidden',
  type: 'FieldValueTypeInvalid',
};

/** A problem of a field, with its path as text, for the answer of the API. */
export function toCause({
  kind,
  path,
  message,
}: Pick<ManifestProblem, 'kind' | 'path' | 'message'>): ApiStatusCause {
  return { reason: REASONS[kind] ?? 'FieldValueInvalid', message, field: path };
}
