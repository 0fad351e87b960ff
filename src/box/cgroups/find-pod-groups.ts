import { join } from 'node:path';
import { messageOf } from '#base/errors/errors.js';
import { type CgroupHost } from './container-cgroup.js';

/** The group of a pod as it was found in a tree. */
export interface FoundPodGroup {
  readonly path: string;
  readonly sandboxId: string;
}

/** Deeper trees than this are none that an agent has made. */
const MAX_DEPTH = 12;

/** The name of a pod's group. */
export function toPodGroup(prefix: string, sandboxId: string): string {
  return `${prefix}-${sandboxId}`;
}

/** Every group of a pod that bears a runtime's prefix, wherever its parent is. */
export async function findPodGroups(host: CgroupHost, prefix: string): Promise<readonly FoundPodGroup[]> {
  const found: FoundPodGroup[] = [];
  const mark = toPodGroup(prefix, '');
  const folders = [{ path: '/', depth: 0 }];
  for (const { path, depth } of folders) {
    for (const name of await listGroups(host, path)) {
      const below = join(path, name);
      if (name.startsWith(mark)) found.push({ path: below, sandboxId: name.slice(mark.length) });
      else if (depth < MAX_DEPTH) folders.push({ path: below, depth: depth + 1 });
    }
  }
  return found;
}

/** The groups below one, by name. What cannot be read is passed over: nothing in it will be touched. */
export async function listGroups({ layout, logger }: CgroupHost, path: string): Promise<readonly string[]> {
  const [anchor] = layout.hierarchies;
  if (anchor === undefined) return [];
  try {
    return await layout.io.children(join(anchor.mountpoint, path));
  } catch (error) {
    logger.warn('Cgroup not readable', { cgroup: path, err: messageOf(error) });
    return [];
  }
}
