import { DEFAULT_NAMESPACE } from '#kube/objects/default-namespace.js';
import { STATIC_POD_ANNOTATIONS, staticPodName, staticPodUid } from '#kube/pod/static-pod.js';
import { isWorkloadKind } from '#kube/workloads/workload.js';
import { isRecord } from '#base/text/is-record.js';

/** Fields that an API server adds and nobody writes. */
const SERVED_META = [
  ...['creationTimestamp', 'resourceVersion', 'generation', 'managedFields', 'selfLink'],
  ...['deletionTimestamp', 'deletionGracePeriodSeconds'],
];

type Fields = Readonly<Record<string, unknown>>;

/**
 * An object in the form of a manifest, from one that an agent may show. Pure.
 *
 * It has no status. A pod of this node has the name in its manifest, without the agent's additions.
 */
export function toWrittenObject(value: object, nodeName: string): Fields {
  const { status: _, ...rest } = value as Fields;
  const { metadata } = rest;
  if (!isRecord(metadata)) return rest;
  const written = { ...rest, metadata: without(metadata, SERVED_META) };
  return asManifestPod(written, written.metadata, nodeName) ?? asManifestWorkload(written, written.metadata);
}

/** Without what an agent adds to a workload or a claim that it shows; any other object as it is. */
function asManifestWorkload(object: Fields, metadata: Fields): Fields {
  const { kind, spec } = object;
  if (typeof kind !== 'string' || !isWorkloadKind(kind)) return object;
  const { uid: _, annotations, ...kept } = metadata;
  const own = isRecord(annotations) ? without(annotations, [REVISION]) : {};
  const isBound = kind === 'PersistentVolumeClaim' && isRecord(spec);
  return {
    ...object,
    metadata: { ...kept, ...(Object.keys(own).length === 0 ? {} : { annotations: own }) },
    ...(isBound && String(spec['volumeName']).startsWith('pvc-')
      ? { spec: without(spec, ['volumeName']) }
      : {}),
  };
}

const REVISION = 'deployment.kubernetes.io/revision';

/** Undefined for anything but a pod that this node shows. */
function asManifestPod(object: Fields, metadata: Fields, nodeName: string): Fields | undefined {
  const { spec } = object;
  const { name, namespace = DEFAULT_NAMESPACE, uid, annotations } = metadata;
  if (object['kind'] !== 'Pod' || !isRecord(spec) || !isRecord(annotations)) return undefined;
  const ending = staticPodName('', nodeName);
  if (typeof name !== 'string' || name.length <= ending.length || !name.endsWith(ending)) return undefined;
  const isShown =
    spec['nodeName'] === nodeName && Object.hasOwn(annotations, STATIC_POD_ANNOTATIONS.manifestHash);
  const source = annotations[STATIC_POD_ANNOTATIONS.source];
  if (!isShown || typeof source !== 'string' || typeof namespace !== 'string') return undefined;
  const own = without(annotations, Object.values(STATIC_POD_ANNOTATIONS));
  const { uid: _, annotations: __, ...kept } = metadata;
  return {
    ...object,
    metadata: {
      ...kept,
      name: name.slice(0, -ending.length),
      // A uid that somebody wrote stays.
      ...(uid === staticPodUid({ source, namespace, name, nodeName }) ? {} : { uid }),
      ...(Object.keys(own).length === 0 ? {} : { annotations: own }),
    },
    spec: without(spec, ['nodeName']),
  };
}

function without(fields: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([key]) => !names.includes(key)));
}
