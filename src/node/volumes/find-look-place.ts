import { readlink } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { findMountOf, type MountEntry } from '#base/proc/mountinfo.js';

/** What answers, or does not, when a path is looked at: all that is mounted at one place does so together. */
export interface LookPlace {
  readonly name: string;
  /** False for what is on the node itself. */
  readonly mayHang: boolean;
}

/** File systems of the node's own disks and memory. Whatever is none of these may have a server that is gone. */
const LOCAL = new Set([
  ...['ext2', 'ext3', 'ext4', 'xfs', 'btrfs', 'zfs', 'bcachefs', 'f2fs', 'jfs', 'reiserfs', 'ntfs3'],
  ...['vfat', 'exfat', 'iso9660', 'udf', 'squashfs', 'erofs', 'overlay', 'tmpfs', 'ramfs', 'devtmpfs'],
  ...['proc', 'sysfs', 'cgroup', 'cgroup2', 'devpts', 'mqueue', 'hugetlbfs', 'debugfs', 'tracefs'],
  ...['securityfs', 'configfs', 'bpf', 'rootfs'],
]);
/** As many links the kernel follows, before it says that there is a loop. */
const MOST_LINKS = 40;

/**
 * Finds the mount that a look at a path gets to, links included: the first that may hang on the way, or else the last.
 *
 * Nothing that may hang is touched for it: of each name the table of mounts tells first what it is on.
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
    if (++links > MOST_LINKS) return place;
    at = target.startsWith('/') ? '/' : dirname(at);
    left.unshift(...namesOf(target));
  }
  return place;
}

function namesOf(path: string): string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.');
}
