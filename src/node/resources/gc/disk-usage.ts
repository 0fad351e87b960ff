import { statfs } from 'node:fs/promises';
import { type DiskUsage } from './image-plan.js';

/** The size of a folder's disk, and what is free for users other than root. */
export async function diskUsageAt(folder: string): Promise<DiskUsage> {
  const { bsize, blocks, bavail } = await statfs(folder);
  return { capacityBytes: bsize * blocks, availableBytes: bsize * bavail };
}
