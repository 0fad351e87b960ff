import { statfs } from 'node:fs/promises';
import { type DiskUsage } from './image-plan.js';

/** How large the disk of a folder is, and how much of it is left for those who are not root. */
export async function diskUsageAt(folder: string): Promise<DiskUsage> {
  const { bsize, blocks, bavail } = await statfs(folder);
  return { capacityBytes: bsize * blocks, availableBytes: bsize * bavail };
}
