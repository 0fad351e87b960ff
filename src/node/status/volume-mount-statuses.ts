import { type Container, type VolumeMount } from '#kube/container/container.js';
import { isRecursivelyReadOnly } from '#kube/container/recursive-read-only.js';
import { type V1VolumeMountStatus } from '#kube/pod/v1-pod-status.js';

/**
 * The mounts in a container's status: all of them, in the order of the spec; nothing if there are none. Pure.
 *
 * A read-only mount shows whether it is recursive; `isRecursiveSupported` is what the runtime supports for
 * the pod. A mount that requires what is not supported shows nothing, as its container does not start.
 *
 * Source: https://kubernetes.io/docs/concepts/storage/volumes/#recursive-read-only-mounts
 */
export function computeVolumeMountStatuses(
  { volumeMounts = [] }: Pick<Container, 'volumeMounts'>,
  isRecursiveSupported: boolean,
): { readonly volumeMounts?: readonly V1VolumeMountStatus[] } {
  if (volumeMounts.length === 0) return {};
  return {
    volumeMounts: volumeMounts.map((mount) => ({
      name: mount.name,
      mountPath: mount.mountPath,
      ...(mount.readOnly === true ? { readOnly: true, ...recursionOf(mount, isRecursiveSupported) } : {}),
    })),
  };
}

function recursionOf(
  mount: VolumeMount,
  isSupported: boolean,
): Pick<V1VolumeMountStatus, 'recursiveReadOnly'> {
  const isRecursive = isRecursivelyReadOnly(mount, isSupported);
  return isRecursive === undefined ? {} : { recursiveReadOnly: isRecursive ? 'Enabled' : 'Disabled' };
}
