import { invalidArgument } from '../rpc-error.js';

/** Where the groups of pods go that name no parent. */
export const DEFAULT_PARENT = '/podloop';

const SLICE = '.slice';
/** What the kernel takes as one name. */
const MAX_NAME_BYTES = 255;

/**
 * The path of a pod's cgroup parent below the root of each tree, as in `/kubepods/burstable/pod1`.
 *
 * In the way of systemd a parent is the name of a slice: `kubepods-burstable.slice` is below `kubepods.slice`, each
 * dash being one step down (systemd.slice(5)), and `-.slice` is the root. Agents send either. A path that climbs
 * out, or is no path, is INVALID_ARGUMENT.
 */
export function toCgroupPath(parent: string): string {
  if (parent === '') return DEFAULT_PARENT;
  const names = parent.split('/').filter((name) => name !== '' && name !== '.');
  const path = names.length === 1 && names[0]!.endsWith(SLICE) ? expandSlice(names[0]!) : names;
  const fault = path.find(
    (name) => name === '..' || /[\0\n]/.test(name) || Buffer.byteLength(name) > MAX_NAME_BYTES,
  );
  if (fault !== undefined || path.length > 16) {
    throw invalidArgument(`cgroup_parent "${parent.slice(0, 300)}" is not the path of a cgroup`);
  }
  return `/${path.join('/')}`;
}

function expandSlice(slice: string): string[] {
  const stem = slice.slice(0, -SLICE.length);
  if (stem === '-') return [];
  const parts = stem.split('-');
  if (parts.includes('')) throw invalidArgument(`cgroup_parent "${slice}" is not the name of a slice`);
  return parts.map((_part, at) => `${parts.slice(0, at + 1).join('-')}${SLICE}`);
}
