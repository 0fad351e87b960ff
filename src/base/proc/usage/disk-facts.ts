import { statfs } from 'node:fs/promises';

/** How large a file system is. */
export interface DiskFacts {
  readonly sizeBytes: bigint;
  readonly inodes: bigint;
  readonly freeInodes: bigint;
}

/** The file system on which a path is; undefined where the path is gone or cannot be asked about. */
export async function findDisk(path: string): Promise<DiskFacts | undefined> {
  try {
    const { bsize, blocks, files, ffree } = await statfs(path, { bigint: true });
    return { sizeBytes: bsize * blocks, inodes: files, freeInodes: ffree };
  } catch {
    return undefined;
  }
}
