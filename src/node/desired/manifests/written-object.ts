import { DEFAULT_NAMESPACE } from '#kube/objects/default-namespace.js';
import { STATIC_POD_ANNOTATIONS, staticPodName, staticPodUid } from '#kube/pod/static-pod.js';
import { isRecord } from '#base/text/is-record.js';

/** What an API server adds, and nobody writes. */
const SERVED_META = [
  ...['creationTimestamp', 'resourceVersion', 'generation', 'managedFields', 'selfLink'],
  ...['deletionTimestamp', 'deletionGracePeriodSeconds'],
];

type Fields = Readonly<Record<string, unknown>>;

/**
 * An object as somebody would write it into a manifest, out of one that may be as an agent shows it: without its status,
 * and a pod of this node under the name in its manifest, without what the agent put there. Pure.
 */
export function toWrittenObject(value: object, nodeName: string): Fields {
  const { status: _, ...rest } = value as Fields;
  const { metadata } = rest;
  if (!isRecord(metadata)) return rest;
  const written = { ...rest, metadata: without(metadata, SERVED_META) };
  return asManifestPod(written, written.metadata, nodeName) ?? written;
}

/** Undefined for whatever is no pod that this node shows. */
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
      // One that somebody wrote stays.
      ...(uid === staticPodUid({ source, namespace, name, nodeName }) ? {} : { uid }),
      ...(Object.keys(own).length === 0 ? {} : { annotations: own }),
    },
    spec: without(spec, ['nodeName']),
  };
}

function without(fields: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([key]) => !names.includes(key)));
}
