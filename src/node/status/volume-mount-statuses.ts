import { type Container, type VolumeMount } from '#kube/container/container.js';
import { isRecursivelyReadOnly } from '#kube/container/recursive-read-only.js';
import { type V1VolumeMountStatus } from '#kube/pod/v1-pod-status.js';

/**
 * What a status says of a container's mounts: all of them, in the order of the spec; nothing where there are none. Pure.
 *
 * A mount that is read-only says whether what is mounted below it is as well; `isRecursiveSupported` is what the runtime
 * can do for the pod. One that insists on what cannot be says nothing of that: its container is not started.
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
