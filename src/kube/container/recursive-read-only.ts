import { type VolumeMount } from './container.js';

/**
 * Whether what is mounted below a read-only mount is read-only as well, where `isSupported` says what the runtime can do;
 * undefined when it insists on what cannot be. Pure.
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
