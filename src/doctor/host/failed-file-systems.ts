import {
  isFileSystemClosed,
  isFileSystemReadOnly,
  type MountOrigin,
  parseMountOrigins,
} from '#base/proc/mountinfo.js';
import { type HostFiles } from '../facts/host-files.js';
import { groupBy } from '../group-by.js';
import { type FailedFileSystem, MAX_NAMED } from './host-facts.js';
import { findMountUsers } from './mount-users.js';
import { type ProcessOwners } from './process-owners.js';

/** File systems that a kernel closes after an error, and that nobody makes read-only: squashfs and iso9660 always are. */
const WRITABLE = /^(ext[234]|xfs|btrfs|f2fs|jfs)$/;

/**
 * The file systems of a mountinfo file that the kernel has closed for writing after an error: newer kernels say so;
 * with older ones the file system is read-only while none of its mounts is. Pure.
 */
export function parseFailedFileSystems(text: string): MountOrigin[] {
  const writable = parseMountOrigins(text).filter(({ fsType }) => WRITABLE.test(fsType));
  return [...groupBy(writable, ({ device }) => device).values()].flatMap((mounts) => {
    const [first] = mounts;
    const isOnPurpose = mounts.some(({ isReadOnly }) => isReadOnly);
    return isFileSystemClosed(first!) || (isFileSystemReadOnly(first!) && !isOnPurpose) ? [first!] : [];
  });
}

/** The same with the pods that have them mounted. */
export async function findFailedFileSystems(
  files: HostFiles,
  owners: ProcessOwners,
): Promise<FailedFileSystem[]> {
  const failed = parseFailedFileSystems((await files.find('/proc/1/mountinfo')) ?? '').slice(0, MAX_NAMED);
  return await Promise.all(
    failed.map(async ({ mountPoint: path, fsType, source, device }) => ({
      ...{ path, device, fsType, source, pods: await findMountUsers(files, device, owners) },
    })),
  );
}
