import { type Container } from '../container/container.js';
import { type Pod } from './pod.js';
import { APPARMOR_PREFIX, appArmorProfileOf } from '../validation/validate-pod-annotations.js';

/**
 * Changes a pod as an API server does before it stores it, apart from defaults. Pure.
 *
 * The AppArmor annotation of a container, as used before Kubernetes 1.30, becomes the container's field.
 * References to pull secrets without a name, which charts leave behind, are dropped.
 */
export function finishPod(pod: Pod): Pod {
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
