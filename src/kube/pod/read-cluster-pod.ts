import { decodeObject } from '../fields/decode-object.js';
import { type Draft } from '../fields/draft.js';
import { type FieldProblem } from '../fields/field-problem.js';
import { type NodePod } from './node-pod.js';
import { applyPodDefaults } from './pod-defaults.js';
import { CLUSTER_POD_TABLES } from './pod-fields.js';
import { SUPPORTED_FIELDS } from './read-pod.js';
import { API_SOURCE, STATIC_POD_ANNOTATIONS } from './static-pod.js';

/** The result of {@link readClusterPod}. */
export interface ClusterPodReading {
  /**
   * The pod with defaults, without unsupported fields.
   *
   * Absent if it has no uid, name, namespace or containers, or if something has the wrong type.
   */
  readonly pod?: NodePod;
  /** What it requests and this node does not provide: with any of these it must not run. */
  readonly problems: readonly FieldProblem[];
  /** Fields of a newer API server, and such values of ignored fields, which have no effect. */
  readonly unknownFields: number;
}

/**
 * Reads a v1 Pod from an API server, leniently, as the server has validated it. Pure, never throws.
 *
 * It is marked with its source, `api`, whatever its annotations say. Volumes of kinds that are unsupported
 * here stay: the pod waits for them, and its events say so.
 */
export function readClusterPod(value: unknown): ClusterPodReading {
  let unknownFields = 0;
  const { value: decoded, problems } = decodeObject(
    withType(value),
    'Pod',
    CLUSTER_POD_TABLES,
    SUPPORTED_FIELDS,
    () => {
      unknownFields++;
    },
  );
  const draft = (decoded ?? {}) as Draft<NodePod>;
  const all = [...problems, ...findUnknownVolumes(draft)];
  const { uid, name, namespace } = draft.metadata ?? {};
  const isReadable = uid !== undefined && name !== undefined && namespace !== undefined;
  if (!isReadable || problems.some(({ kind }) => kind !== 'refused')) return { problems: all, unknownFields };
  // Every required field of the interfaces was read.
  const pod = applyPodDefaults(draft as NodePod) as NodePod;
  const annotations = { ...pod.metadata.annotations, [STATIC_POD_ANNOTATIONS.source]: API_SOURCE };
  return { pod: { ...pod, metadata: { ...pod.metadata, annotations } }, problems: all, unknownFields };
}

/** An API server sets a source for each volume: one without has a source that is newer than this release. */
function findUnknownVolumes({ spec }: Draft<NodePod>): FieldProblem[] {
  return (spec?.volumes ?? []).flatMap((volume, index): FieldProblem[] => {
    if (volume === undefined || Object.keys(volume).length > 1) return [];
    const path = ['spec', 'volumes', index];
    return [{ kind: 'refused', path, message: 'not supported; volumes of its kind are not known here' }];
  });
}

/** The items of a list do not have their type. */
function withType(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return { ...value, apiVersion: 'v1', kind: 'Pod' };
}
