import { join } from 'node:path';
import { systemCodeOf } from '../system-code.js';
import { type CgroupIo } from './cgroup-io.js';
import { type CgroupLayout } from './cgroup-layout.js';
import { type Hierarchy } from './cgroup-mounts.js';

/**
 * Makes a group in every tree, with what is missing above it; one that is there stays as it is.
 *
 * Two things are not inherited by themselves: the CPUs and memory nodes of version 1's cpuset, without which no
 * process may join, and the controllers of version 2, which each group must hand down.
 *
 * @returns the folders of the groups above it that were made on the way, by tree, topmost first.
 */
export async function makeGroup(layout: CgroupLayout, group: string): Promise<readonly string[]> {
  const made: string[] = [];
  const names = group.split('/').filter((name) => name !== '');
  for (const hierarchy of layout.hierarchies) {
    const hasCpuset = hierarchy.controllers.includes('cpuset') && hierarchy.version === 1;
    // Groups come and go in one that stays: where nothing has to be handed down, the way is taken only if it is missing.
    if (
      hierarchy.version === 1 &&
      !hasCpuset &&
      (await canMake(layout.io, join(hierarchy.mountpoint, group)))
    )
      continue;
    let path = '';
    for (const name of names) {
      if (hierarchy.version === 2) await handDown(layout.io, hierarchy, path);
      path += `/${name}`;
      const folder = join(hierarchy.mountpoint, path);
      const isNew = await makeOne(layout.io, folder);
      if (isNew && path !== group) made.push(folder);
      if (hasCpuset) {
        await inheritCpuset(layout.io, hierarchy, path);
      }
    }
  }
  return made;
}

/** False when what is above it is missing. */
async function canMake(io: CgroupIo, path: string): Promise<boolean> {
  try {
    await makeOne(io, path);
    return true;
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return false;
    throw error;
  }
}

/** True when it was not there before. */
async function makeOne(io: CgroupIo, path: string): Promise<boolean> {
  try {
    await io.makeGroup(path);
    return true;
  } catch (error) {
    if (systemCodeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/** Lets the groups below one have the controllers that it has itself. */
export async function handDown(io: CgroupIo, hierarchy: Hierarchy, group: string): Promise<void> {
  const path = join(hierarchy.mountpoint, group);
  const handed = toWords(io.read(join(path, 'cgroup.subtree_control')));
  const own = toWords(io.read(join(path, 'cgroup.controllers')));
  for (const controller of hierarchy.controllers) {
    if (handed.includes(controller) || !own.includes(controller)) continue;
    await io.write(join(path, 'cgroup.subtree_control'), `+${controller}`);
  }
}

async function inheritCpuset(io: CgroupIo, { mountpoint }: Hierarchy, group: string): Promise<void> {
  for (const file of ['cpuset.cpus', 'cpuset.mems']) {
    const path = join(mountpoint, group, file);
    if (io.read(path)?.trim() !== '') continue;
    const above = io.read(join(mountpoint, group, '..', file))?.trim() ?? '';
    if (above !== '') await io.write(path, above);
  }
}

/** The words of a file such as cgroup.controllers. */
export function toWords(text: string | undefined): readonly string[] {
  return (text ?? '').split(/\s+/).filter((word) => word !== '');
}
