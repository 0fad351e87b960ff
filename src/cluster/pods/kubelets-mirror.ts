/**
 * Decides whether a mirror pod that a kubelet left can be used like one of this agent.
 *
 * A kubelet says by the uid alone which version of a static pod a mirror pod is of, and computes it from the manifest by
 * its own types, which nobody else can do. So what the mirror pod itself says is held against the manifest. In doubt it is
 * not the same: the mirror pod is then created again, as after an edit.
 *
 * @module
 */
import { type Container } from '#kube/container/container.js';
import { decodeObject } from '#kube/fields/decode-object.js';
import { DEFAULT_NAMESPACE } from '#kube/objects/default-namespace.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { applyPodDefaults } from '#kube/pod/pod-defaults.js';
import { POD_TABLES } from '#kube/pod/pod-fields.js';
import { type Pod } from '#kube/pod/pod.js';
import { SUPPORTED_FIELDS } from '#kube/pod/read-pod.js';
import { hashPod, STATIC_POD_ANNOTATIONS } from '#kube/pod/static-pod.js';
import { MIRROR_ANNOTATION, type NamedApiPod } from './api-pod.js';
import { mirrorTolerations } from './mirror-tolerations.js';

/** When the kubelet first saw the manifest. */
const SEEN_ANNOTATION = 'kubernetes.io/config.seen';

/** Written by agents, each in its own way; what the manifest came through has to be the same. */
const OF_AGENTS: ReadonlySet<string> = new Set([
  MIRROR_ANNOTATION,
  SEEN_ANNOTATION,
  STATIC_POD_ANNOTATIONS.uid,
  STATIC_POD_ANNOTATIONS.manifestHash,
]);

/** What says nothing, and API servers leave out of what was written, or write where nothing was. */
const NOTHING: Readonly<Record<string, unknown>> = {
  hostNetwork: false,
  readOnly: false,
  stdin: false,
  stdinOnce: false,
  tty: false,
  initialDelaySeconds: 0,
  divisor: '0',
};

/**
 * Whether a kubelet made this mirror pod, for a static pod of the uid that ours has, of a manifest that said what it says
 * now. Pure.
 *
 * The uids are the same only where the pod was adopted, or where the manifest says the uid. What podloop does not honour
 * is not compared, as it is no edit either. A label or annotation that somebody gave to the mirror pod alone cannot be told
 * from one that the manifest has lost, and counts.
 */
export function isKubeletsMirrorOf(mirror: NamedApiPod, pod: NodePod): boolean {
  const { annotations = {} } = mirror.metadata;
  const { uid } = pod.metadata;
  if (annotations[STATIC_POD_ANNOTATIONS.manifestHash] !== undefined) return false;
  if (annotations[MIRROR_ANNOTATION] !== uid || annotations[STATIC_POD_ANNOTATIONS.uid] !== uid) return false;
  const object = { ...mirror, apiVersion: 'v1', kind: 'Pod' };
  const { value, problems } = decodeObject(object, 'Pod', POD_TABLES, SUPPORTED_FIELDS);
  if (problems.length > 0) return false;
  // Everything that the interface asks for was read.
  const copy = applyPodDefaults(value as Pod);
  const own = applyPodDefaults({ ...pod, spec: { ...pod.spec, tolerations: mirrorTolerations(pod) } });
  return hashPod(toComparable(withPriorityOf(copy, own))) === hashPod(toComparable(own));
}

/** The number of a class is the API server's to know; of its own classes a manifest has it by default. */
function withPriorityOf(copy: Pod, { spec: { priority, priorityClassName } }: Pod): Pod {
  const isOfClass = priorityClassName !== undefined && copy.spec.priorityClassName === priorityClassName;
  if (priority !== undefined || !isOfClass) return copy;
  const { priority: _ofClass, ...spec } = copy.spec;
  return { ...copy, spec };
}

/** As much of a pod as its manifest says, in one form whoever has read it. */
function toComparable({ metadata, spec }: Pod): Pod {
  const { name, namespace = DEFAULT_NAMESPACE, labels = {}, annotations = {} } = metadata;
  const { nodeName: _node, ...rest } = spec;
  const written = Object.entries(annotations).filter(([key]) => !OF_AGENTS.has(key));
  return {
    ...{ apiVersion: 'v1', kind: 'Pod' },
    metadata: { name, namespace, labels, annotations: Object.fromEntries(written) },
    spec: withoutNothing({
      ...rest,
      containers: spec.containers.map(withoutUsualResizes),
      ...(spec.initContainers === undefined
        ? {}
        : { initContainers: spec.initContainers.map(withoutUsualResizes) }),
    }),
  };
}

/** API servers write out what is done anyway. */
function withoutUsualResizes({ resizePolicy = [], ...container }: Container): Container {
  return {
    ...container,
    resizePolicy: resizePolicy.filter(({ restartPolicy }) => restartPolicy !== 'NotRequired'),
  };
}

function withoutNothing<T>(value: T): T {
  if (Array.isArray(value)) return value.map(withoutNothing) as T;
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(
    ([key, item]) => !Object.hasOwn(NOTHING, key) || item !== NOTHING[key],
  );
  return Object.fromEntries(
    entries.map(([key, item]): [string, unknown] => [key, withoutNothing(item)]),
  ) as T;
}
