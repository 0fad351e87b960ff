import { type Draft } from '../fields/draft.js';
import { decodeObject, type SupportRule } from '../fields/decode-object.js';
import { type FieldProblem } from '../fields/field-problem.js';
import { type Pod, type PodSpec } from './pod.js';
import { POD_TABLES } from './pod-fields.js';
import { findWrongServerFields } from '../fields/server-written-fields.js';
import { validatePod } from '../validation/validate-pod.js';
import { withoutConsequences } from '../fields/without-consequences.js';
import { withoutIgnored } from '../fields/without-ignored.js';
import { type Container } from '../container/container.js';
import { APPARMOR_PREFIX, appArmorProfileOf } from '../validation/validate-pod-annotations.js';

/** The result of {@link readPod}. */
export interface PodReading {
  /** The pod as written, without defaults; absent if there are problems. */
  readonly pod?: Pod;
  /** The name in the object, as far as it can be read: for messages. */
  readonly name: string;
  readonly namespace: string;
  /** All problems, those of types and unknown fields first. Empty for a pod that can run. */
  readonly problems: readonly FieldProblem[];
}

/** Accepts what is supported today. */
export const SUPPORTED_FIELDS: SupportRule = (_type, _field, { support }) => support !== 'planned';

/** Also accepts what is planned, for those who work on it. */
export const PLANNED_FIELDS: SupportRule = () => true;

const POD_TYPE = { kind: 'object', name: 'Pod' } as const;

/** Reads and validates a v1 Pod from plain JSON, strictly. Never throws. */
export function readPod(value: unknown, isSupported: SupportRule = SUPPORTED_FIELDS): PodReading {
  const { value: decoded, problems: read } = decodeObject(
    value,
    'Pod',
    POD_TABLES,
    isSupported,
    undefined,
    true,
  );
  const problems = [...read, ...findWrongServerFields(value)];
  const draft = withAccountName(decoded ?? {});
  const all = [...problems, ...withoutConsequences(validatePod(draft), problems)];
  return {
    // The tables know every field of the interface, and nothing is missing.
    ...(all.length === 0 ? { pod: finishPod(withoutIgnored(draft, POD_TYPE, POD_TABLES) as Pod) } : {}),
    name: draft.metadata?.name ?? '',
    namespace: draft.metadata?.namespace ?? '',
    problems: all,
  };
}

/** Moves `serviceAccount`, the older name of the field, to `serviceAccountName` where that is empty, as decoding does in Kubernetes. */
function withAccountName(pod: Draft<Pod>): Draft<Pod> {
  const { spec } = pod as { readonly spec?: Draft<PodSpec> & { readonly serviceAccount?: string } };
  if (!spec?.serviceAccount || spec.serviceAccountName) return pod;
  return { ...pod, spec: { ...spec, serviceAccountName: spec.serviceAccount } };
}

/**
 * Changes a pod as an API server does before it stores it, apart from defaults. Pure.
 *
 * The AppArmor annotation of a container, as used before Kubernetes 1.30, becomes the container's field.
 * References to pull secrets without a name, which charts leave behind, are dropped.
 */
function finishPod(pod: Pod): Pod {
  const { spec, metadata } = pod;
  const { imagePullSecrets } = spec;
  const annotations = metadata.annotations ?? {};
  const hasProfiles = Object.keys(annotations).some((key) => key.startsWith(APPARMOR_PREFIX));
  const named = imagePullSecrets?.filter(({ name }: { readonly name?: string }) => name !== undefined);
  if (!hasProfiles && named?.length === imagePullSecrets?.length) return pod;
  const confine = <Each extends Container>(container: Each): Each => {
    const profile = appArmorProfileOf(annotations[`${APPARMOR_PREFIX}${container.name}`] ?? '');
    const context = container.securityContext;
    if (profile === undefined || context?.appArmorProfile !== undefined) return container;
    return { ...container, securityContext: { ...context, appArmorProfile: profile } };
  };
  const { initContainers, ephemeralContainers } = spec;
  return {
    ...pod,
    spec: {
      ...spec,
      containers: spec.containers.map(confine),
      ...(initContainers === undefined ? {} : { initContainers: initContainers.map(confine) }),
      ...(ephemeralContainers === undefined ? {} : { ephemeralContainers: ephemeralContainers.map(confine) }),
      ...(named === undefined ? {} : { imagePullSecrets: named }),
    },
  };
}
