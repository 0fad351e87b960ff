import { type VolumeMount } from './container.js';

/**
 * Whether mounts below a read-only mount are read-only as well; `isSupported` is whether the runtime can do
 * that.
 *
 * Undefined if the mount requires it and the runtime cannot. Pure.
 *
 * Source: https://kubernetes.io/docs/concepts/storage/volumes/#recursive-read-only-mounts
 */
export function isRecursivelyReadOnly(
  { recursiveReadOnly = 'Disabled' }: Pick<VolumeMount, 'recursiveReadOnly'>,
  isSupported: boolean,
): boolean | undefined {
  if (recursiveReadOnly === 'Disabled') return false;
  if (isSupported) return true;
  return recursiveReadOnly === 'IfPossible' ? false : undefined;
}
