import { readlink } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { findMountOf, type MountEntry } from '#base/proc/mountinfo.js';

/** What answers, or not, when a path is accessed: everything in one mount does so together. */
export interface LookPlace {
  readonly name: string;
  /** False for file systems on the node itself. */
  readonly mayHang: boolean;
}

/** File systems of the node's own disks and memory. Any other may have a server that is gone. */
const LOCAL = new Set([
  ...['ext2', 'ext3', 'ext4', 'xfs', 'btrfs', 'zfs', 'bcachefs', 'f2fs', 'jfs', 'reiserfs', 'ntfs3'],
  ...['vfat', 'exfat', 'iso9660', 'udf', 'squashfs', 'erofs', 'overlay', 'tmpfs', 'ramfs', 'devtmpfs'],
  ...['proc', 'sysfs', 'cgroup', 'cgroup2', 'devpts', 'mqueue', 'hugetlbfs', 'debugfs', 'tracefs'],
  ...['securityfs', 'configfs', 'bpf', 'rootfs'],
]);
/** The kernel follows this many links before it reports a loop. */
const MAX_LINKS = 40;

/**
 * Finds the mount that an access of a path reaches, including links: the first on the way that may hang,
 * otherwise the last.
 *
 * It touches nothing that may hang: before each name, it checks the table of mounts.
 */
export async function findLookPlace(path: string, mounts: readonly MountEntry[]): Promise<LookPlace> {
  let place: LookPlace = { name: '/', mayHang: false };
  let links = 0;
  let at = '/';
  const left = namesOf(resolve(path));
  for (let name = left.shift(); name !== undefined; name = left.shift()) {
    at = name === '..' ? dirname(at) : join(at, name);
    const mount = findMountOf(mounts, at);
    if (mount !== undefined) place = { name: mount.mountPoint, mayHang: !LOCAL.has(mount.fsType) };
    if (place.mayHang) return place;
    const target = await readlink(at).catch(() => undefined);
    if (target === undefined) continue;
    if (++links > MAX_LINKS) return place;
    at = target.startsWith('/') ? '/' : dirname(at);
    left.unshift(...namesOf(target));
  }
  return place;
}

function namesOf(path: string): string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.');
}
