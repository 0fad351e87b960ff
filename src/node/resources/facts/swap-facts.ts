import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findCgroupMounts, findUnifiedAlone } from '#base/proc/cgroups/cgroup-mounts.js';
import { type SwapFacts } from '../../runtime/config/swap-limit.js';

/** What {@link readSwapFacts} reads from; the defaults are the machine's. */
export interface SwapSources {
  /** The text of /proc/self/mountinfo. */
  readonly mountinfo: string;
  readonly meminfo?: string;
}

const SWAP_FILE = 'memory.swap.max';
const KIB = 1_024n;

/**
 * The node's swap; undefined where the kernel cannot limit it for a container: on cgroup v1, which a kubelet leaves alone as well, and
 * where swap is not counted.
 */
export async function readSwapFacts(
  isLimited: boolean,
  { mountinfo, meminfo = '/proc/meminfo' }: SwapSources,
): Promise<SwapFacts | undefined> {
  const tree = findUnifiedAlone(findCgroupMounts(mountinfo));
  if (tree === undefined || !(await countsSwap(tree.mountpoint))) return undefined;
  const text = await readFile(meminfo, 'latin1').catch(() => '');
  return { isLimited, capacityBytes: BigInt(/^SwapTotal:\s+(\d+) kB$/m.exec(text)?.[1] ?? 0) * KIB };
}

/** The top of the tree has no limits: some group below it shows. */
async function countsSwap(mountpoint: string): Promise<boolean> {
  const entries = await readdir(mountpoint, { withFileTypes: true }).catch(() => []);
  for (const entry of entries.filter((each) => each.isDirectory())) {
    const text = await readFile(join(mountpoint, entry.name, SWAP_FILE), 'latin1').catch(() => undefined);
    if (text !== undefined) return true;
  }
  return false;
}
