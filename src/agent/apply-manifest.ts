import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { FILE_SOURCE } from '../config/file-source.js';
import { type ManifestProblem, type ManifestProblemKind } from '../config/manifest-problem.js';
import { ManifestWriter } from '../config/manifest-writer.js';
import { type ManifestReading } from '../config/manifest-reader.js';
import { type StoppedPods } from '../config/stopped-pods.js';
import { hasSameContent } from '../model/config-object-update.js';
import { type ConfigObject } from '../model/config-object.js';
import { formatFieldProblem } from '../model/field-problem.js';
import { findForbidden, type NodePolicy } from '../model/node-policy.js';
import { STATIC_POD_ANNOTATIONS, toStaticPod } from '../model/static-pod.js';
import { type ApiStatusCause } from '../server/api-error.js';
import { type ApplyObject } from '../server/apply-object.js';
import { type DesiredPods } from '../sync/desired-pods.js';
import { type Clock } from '../util/clock.js';
import { type ManifestPlaces } from './pod-sources.js';

/** What {@link applyManifests} works with. */
export interface ApplyManifestsPorts {
  readonly clock: Clock;
  readonly nodeName: string;
  /** Undefined where manifests come from elsewhere. */
  readonly manifests: ManifestPlaces | undefined;
  readonly desired: Pick<DesiredPods, 'find'>;
  readonly objects: { all(): readonly { readonly source: string; readonly object: ConfigObject }[] };
  readonly stopped: Pick<StoppedPods, 'release'>;
  /** What pods may not ask for here. */
  readonly policy: NodePolicy;
}

/** So long the agent may take to see a file that was written, before the answer goes out all the same. */
const SEEN_LIMIT_MS = 3_000;
const LOOK_MS = 25;

/** Puts objects among the manifests of an agent. */
export function applyManifests(ports: ApplyManifestsPorts): ApplyObject {
  const { clock, manifests, nodeName, stopped } = ports;
  const writer =
    manifests === undefined
      ? undefined
      : new ManifestWriter({
          ...{ folder: resolve(manifests.path), nodeName, findFile: manifests.findFile },
          findForbidden: (pod) => findForbidden(pod, ports.policy),
        });
  return async ({ kind, namespace, name, value, isDryRun }, signal) => {
    const why = await whyNoFolder(manifests);
    if (writer === undefined || why !== undefined) {
      return { kind: 'refused', reason: 'MethodNotAllowed', message: why ?? NO_FOLDER };
    }
    const outcome = await writer.apply({ kind, namespace, name }, value, isDryRun);
    if (outcome.kind === 'invalid') return { kind: 'invalid', causes: outcome.problems.map(toCause) };
    if (outcome.kind === 'forbidden') {
      const message = outcome.problems.map(formatFieldProblem).join('; ');
      return { kind: 'refused', reason: 'Forbidden', message };
    }
    if (outcome.kind === 'in the way') {
      const message = `it stands in ${outcome.file}, which holds something else, too: change it there`;
      return { kind: 'refused', reason: 'Conflict', message };
    }
    if (!isDryRun) {
      const uid = uidOf(outcome.reading, nodeName);
      if (uid !== undefined) await stopped.release(uid);
      await untilSeen(() => isSeen(outcome.reading, ports), clock, signal);
    }
    return { kind: 'applied', result: outcome.result };
  };
}

const NO_FOLDER =
  'the agent has no folder of manifests to put it into: its manifests come from a URL or from standard input';

async function whyNoFolder(manifests: ManifestPlaces | undefined): Promise<string | undefined> {
  if (manifests === undefined) return NO_FOLDER;
  const facts = await stat(manifests.path).catch(() => undefined);
  if (facts === undefined) return `the folder of manifests ${manifests.path} does not exist`;
  return facts.isDirectory() ? undefined : `the agent reads the one file ${manifests.path}: change it there`;
}

function uidOf({ pods }: ManifestReading, nodeName: string): string | undefined {
  const [first] = pods;
  if (first === undefined) return undefined;
  return toStaticPod(first.pod, { source: FILE_SOURCE, nodeName }).pod.metadata.uid;
}

/** Whether the agent has taken in what was written. */
function isSeen({ pods, objects: written }: ManifestReading, ports: ApplyManifestsPorts): boolean {
  const { desired, objects, nodeName } = ports;
  const areSeen = pods.every(({ pod }) => {
    const { pod: wanted, hash } = toStaticPod(pod, { source: FILE_SOURCE, nodeName });
    const known = desired.find(wanted.metadata.uid)?.metadata;
    const isIt = known?.annotations?.[STATIC_POD_ANNOTATIONS.manifestHash] === hash;
    return isIt && known.deletionTimestamp === undefined;
  });
  return (
    areSeen &&
    written.every(({ object }) => objects.all().some((known) => hasSameContent(known.object, object)))
  );
}

async function untilSeen(isThere: () => boolean, clock: Clock, signal: AbortSignal): Promise<void> {
  const startedMs = clock.monotonicMs();
  while (!isThere() && clock.monotonicMs() < startedMs + SEEN_LIMIT_MS && !signal.aborted) {
    await clock.sleep(LOOK_MS, signal).catch(() => undefined);
  }
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

function toCause({ kind, path, message }: ManifestProblem): ApiStatusCause {
  return { reason: REASONS[kind] ?? 'FieldValueInvalid', message, field: path };
}
