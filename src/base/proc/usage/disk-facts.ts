import { statfs } from 'node:fs/promises';

/** The size of a file system. */
export interface DiskFacts {
  readonly sizeBytes: bigint;
  readonly inodes: bigint;
  readonly freeInodes: bigint;
}

/** The file system that contains a path; undefined if the path is gone or cannot be read. */
export async function findDisk(path: string): Promise<DiskFacts | undefined> {
  try {
    const { bsize, blocks, files, ffree } = await statfs(path, { bigint: true });
    return { sizeBytes: bsize * blocks, inodes: files, freeInodes: ffree };
  } catch {
    return undefined;
  }
}
