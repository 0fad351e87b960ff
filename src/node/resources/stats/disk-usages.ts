import { lstat, readdir, statfs } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { type FilesystemUsage, type ImageFilesystems } from '#watch';
import { type DiskUse } from './summary-shapes.js';

/** The size and the free space of a path's file system. Undefined when unknown. */
export async function diskAt(path: string, atMs: number): Promise<DiskUse | undefined> {
  try {
    const { bsize, blocks, bfree, bavail, files, ffree } = await statfs(path);
    return {
      atMs,
      capacityBytes: bsize * blocks,
      availableBytes: bsize * bavail,
      usedBytes: bsize * (blocks - bfree),
      inodes: files,
      inodesFree: ffree,
      inodesUsed: files - ffree,
    };
  } catch {
    return undefined;
  }
}

/** The usage of one user on a shared file system. */
export function usedOf(
  disk: DiskUse | undefined,
  used: Pick<DiskUse, 'usedBytes' | 'inodesUsed'> & { readonly atMs?: number },
): DiskUse {
  const { atMs = disk?.atMs ?? 0, usedBytes, inodesUsed } = used;
  return { ...disk, atMs, usedBytes, inodesUsed };
}

/** The file systems of images and of writable layers. */
export async function imageDisks(
  { images, containers }: ImageFilesystems,
  atMs: number,
): Promise<{ readonly images: DiskUse | undefined; readonly containers: DiskUse | undefined }> {
  const toDisk = async (used: FilesystemUsage | undefined): Promise<DiskUse | undefined> =>
    used && usedOf(await diskAt(used.mountpoint, atMs), used);
  return { images: await toDisk(images), containers: await toDisk(containers) };
}

/**
 * The size of one container's logs, including rotated ones; undefined when unknown.
 *
 * @param logPath from the runtime. The container's creator has chosen it, so it counts only below `logsDir`.
 */
export async function logUse(
  logPath: string,
  logsDir: string,
  disk: DiskUse | undefined,
): Promise<DiskUse | undefined> {
  const folder = dirname(resolve('/', logPath));
  const isOfPod = logPath.startsWith('/') && folder.startsWith(`${resolve(logsDir)}/`);
  if (!isOfPod) return undefined;
  const names = await readdir(folder).catch(() => undefined);
  if (names === undefined) return undefined;
  let usedBytes = 0;
  for (const name of names) {
    const facts = await lstat(join(folder, name)).catch(() => undefined);
    if (facts?.isFile() === true) usedBytes += facts.blocks * 512;
  }
  return usedOf(disk, { usedBytes, inodesUsed: names.length });
}
