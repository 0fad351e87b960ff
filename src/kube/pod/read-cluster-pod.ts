import { decodeObject } from '../fields/decode-object.js';
import { type Draft } from '../fields/draft.js';
import { type FieldProblem } from '../fields/field-problem.js';
import { type NodePod } from './node-pod.js';
import { applyPodDefaults } from './pod-defaults.js';
import { CLUSTER_POD_TABLES } from './pod-fields.js';
import { SUPPORTED_FIELDS } from './read-pod.js';
import { API_SOURCE, STATIC_POD_ANNOTATIONS } from './static-pod.js';

/** What {@link readClusterPod} makes of an object. */
export interface ClusterPodReading {
  /**
   * The pod with defaults, without the fields that podloop does not support; absent when it has no uid, name, namespace or
   * containers, or when something is of a wrong type.
   */
  readonly pod?: NodePod;
  /** What it asks for and no pod of this node gets: with any of these it must not be run. */
  readonly problems: readonly FieldProblem[];
  /** Fields that podloop does not know, of a newer API server, and such values of fields that it ignores: without effect. */
  readonly unknownFields: number;
}

/**
 * Reads a v1 Pod as an API server sends it, leniently: it has been held against Kubernetes' rules there. Pure, never throws.
 *
 * It is marked with its source, `api`, whatever its annotations say of that. Volumes of kinds that no pod gets here are kept:
 * the pod waits for them, and its events tell.
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
  // Everything that the interfaces ask for was read.
  const pod = applyPodDefaults(draft as NodePod) as NodePod;
  const annotations = { ...pod.metadata.annotations, [STATIC_POD_ANNOTATIONS.source]: API_SOURCE };
  return { pod: { ...pod, metadata: { ...pod.metadata, annotations } }, problems: all, unknownFields };
}

/** API servers say of each volume what it is: one without a source has one that came after this release. */
function findUnknownVolumes({ spec }: Draft<NodePod>): FieldProblem[] {
  return (spec?.volumes ?? []).flatMap((volume, index): FieldProblem[] => {
    if (volume === undefined || Object.keys(volume).length > 1) return [];
    const path = ['spec', 'volumes', index];
    return [{ kind: 'refused', path, message: 'not supported; volumes of its kind are not known here' }];
  });
}

/** The items of a list do not say what they are. */
function withType(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return { ...value, apiVersion: 'v1', kind: 'Pod' };
}
