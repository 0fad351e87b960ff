import { isRecord } from '#base/text/is-record.js';
import { type KubeObject } from '#kube/columns/kube-object.js';
import { applyPodDefaults } from '#kube/pod/pod-defaults.js';
import { type Pod } from '#kube/pod/pod.js';
import { STATIC_POD_ANNOTATIONS, staticPodName } from '#kube/pod/static-pod.js';
import { applyWorkloadDefaults } from '#kube/workloads/read-workload.js';
import { isWorkloadKind, type Workload } from '#kube/workloads/workload.js';

const SERVED_META = [
  ...['creationTimestamp', 'deletionGracePeriodSeconds', 'deletionTimestamp', 'generation'],
  ...['managedFields', 'ownerReferences', 'resourceVersion', 'selfLink', 'uid'],
];
const SERVED_ANNOTATIONS = [...Object.values(STATIC_POD_ANNOTATIONS), 'deployment.kubernetes.io/revision'];

type Fields = Readonly<Record<string, unknown>>;

/** An object of an agent as a manifest has it, under the name there: without status, and without what the agent has added. Pure. */
export function toManifestForm(object: KubeObject): KubeObject {
  const { metadata = {}, status: _, ...rest } = object as KubeObject & { readonly status?: unknown };
  const { spec } = rest as { readonly spec?: Fields };
  const {
    annotations = {},
    name = '',
    ...meta
  } = without(metadata as Fields, SERVED_META) as {
    readonly annotations?: Readonly<Record<string, string>>;
    readonly name?: string;
  };
  const nodeName = typeof spec?.['nodeName'] === 'string' ? spec['nodeName'] : '';
  const ending = staticPodName('', nodeName);
  const isOfManifest =
    annotations[STATIC_POD_ANNOTATIONS.manifestHash] !== undefined && name.endsWith(ending);
  const own = without(annotations, SERVED_ANNOTATIONS);
  const { securityContext } = spec ?? {};
  const isEmpty = isRecord(securityContext) && Object.keys(securityContext).length === 0;
  const added = [
    ...(isOfManifest ? ['nodeName'] : []),
    ...(isEmpty ? ['securityContext'] : []),
    ...(object.kind === 'PersistentVolumeClaim' ? ['volumeName'] : []),
  ];
  return {
    ...rest,
    metadata: {
      ...meta,
      name: isOfManifest ? name.slice(0, -ending.length) : name,
      ...(Object.keys(own).length === 0 ? {} : { annotations: own }),
    },
    ...(spec === undefined ? {} : { spec: without(spec, added) }),
  } as KubeObject;
}

/**
 * A pod without the ephemeral containers that `written` does not have: somebody has added them to it as it ran, by
 * `podloop debug`. Other objects are returned as they are. Pure.
 */
export function withoutDebugContainers(object: KubeObject, written: KubeObject = {}): KubeObject {
  const { ephemeralContainers: shown, ...spec } = specOf(object);
  if (!Array.isArray(shown)) return object;
  const names = new Set(namesOf(specOf(written)['ephemeralContainers']));
  const left = shown.filter((each) => names.has(namesOf([each])[0]));
  return { ...object, spec: left.length === 0 ? spec : { ...spec, ephemeralContainers: left } } as KubeObject;
}

/** The same with Kubernetes' defaults, as an agent shows it; as it is if it is wrong. Pure. */
export function withServedDefaults(object: KubeObject): KubeObject {
  const { kind = '' } = object;
  try {
    if (kind === 'Pod') return applyPodDefaults(object as unknown as Pod);
    if (isWorkloadKind(kind)) return applyWorkloadDefaults(object as unknown as Workload);
  } catch {
    // What is wrong with it the agent says.
  }
  return object;
}

function without(fields: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([key]) => !names.includes(key)));
}

function specOf(object: KubeObject): Fields {
  return (object as { readonly spec?: Fields }).spec ?? {};
}

function namesOf(containers: unknown): unknown[] {
  return Array.isArray(containers) ? containers.map((each) => (each as Fields | null)?.['name']) : [];
}
