import { join } from 'node:path';
import { systemCodeOf } from '../../errors/system-code.js';
import { type CgroupIo } from './cgroup-io.js';
import { type CgroupLayout } from './cgroup-layout.js';
import { type Hierarchy } from './cgroup-mounts.js';
import { type MissingController, toMissing } from './missing-controller.js';

/** The result of {@link makeGroup}. */
export interface MadeGroup {
  /** The folders of the parent groups that were created, by tree, topmost first. */
  readonly above: readonly string[];
  /** The controllers that the group lacks, each with the topmost group that does not delegate it. */
  readonly missing: readonly MissingController[];
}

/**
 * Creates a group in every tree, with missing parents; an existing group is not changed.
 *
 * Two things are not inherited automatically: the CPUs and memory nodes of version 1's cpuset, without which
 * no process may join, and the controllers of version 2, which each group from the top down must enable for
 * its children, whoever created it.
 */
export async function makeGroup(layout: CgroupLayout, group: string): Promise<MadeGroup> {
  const above: string[] = [];
  const missing = new MissingControllers();
  const names = group.split('/').filter((name) => name !== '');
  for (const hierarchy of layout.hierarchies) {
    const hasCpuset = hierarchy.controllers.includes('cpuset') && hierarchy.version === 1;
    // Groups come and go in a parent that stays. If nothing has to be enabled, the path is only walked if it
    // is missing.
    if (
      hierarchy.version === 1 &&
      !hasCpuset &&
      (await canMake(layout.io, join(hierarchy.mountpoint, group)))
    )
      continue;
    let path = '';
    for (const name of names) {
      if (hierarchy.version === 2) missing.add(await handDown(layout.io, hierarchy, path || '/'));
      path += `/${name}`;
      const folder = join(hierarchy.mountpoint, path);
      const isNew = await makeOne(layout.io, folder);
      if (isNew && path !== group) above.push(folder);
      if (hasCpuset) {
        await inheritCpuset(layout.io, hierarchy, path);
      }
    }
  }
  return { above, missing: missing.list() };
}

/**
 * Enables the controllers of a version 2 tree on the path to an existing group, and creates none; returns
 * those that the group lacks.
 */
export async function handDownTo(
  io: CgroupIo,
  hierarchy: Hierarchy,
  group: string,
): Promise<readonly MissingController[]> {
  const missing = new MissingControllers();
  const names = group.split('/').filter((name) => name !== '');
  for (const [at] of names.entries()) {
    missing.add(await handDown(io, hierarchy, `/${names.slice(0, at).join('/')}`));
  }
  return missing.list();
}

/** One entry per controller: a group that lacks it cannot enable it for its children either. */
class MissingControllers {
  readonly #found = new Map<string, MissingController>();

  add(missing: readonly MissingController[]): void {
    for (const each of missing) if (!this.#found.has(each.controller)) this.#found.set(each.controller, each);
  }

  list(): readonly MissingController[] {
    return [...this.#found.values()];
  }
}

/** Returns false if the parent is missing. */
async function canMake(io: CgroupIo, path: string): Promise<boolean> {
  try {
    await makeOne(io, path);
    return true;
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return false;
    throw error;
  }
}

/** Returns true if it did not exist before. */
async function makeOne(io: CgroupIo, path: string): Promise<boolean> {
  try {
    await io.makeGroup(path);
    return true;
  } catch (error) {
    if (systemCodeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/**
 * Enables a group's own controllers for the groups below it; returns those that the kernel refuses.
 *
 * One at a time, as the kernel accepts all or none of several in one write.
 */
export async function handDown(
  io: CgroupIo,
  hierarchy: Hierarchy,
  group: string,
): Promise<readonly MissingController[]> {
  const path = join(hierarchy.mountpoint, group);
  const handed = toWords(io.read(join(path, 'cgroup.subtree_control')));
  const wanted = hierarchy.controllers.filter((controller) => !handed.includes(controller));
  if (wanted.length === 0) return [];
  const own = toWords(io.read(join(path, 'cgroup.controllers')));
  const missing: MissingController[] = [];
  for (const controller of wanted.filter((each) => own.includes(each))) {
    try {
      await io.write(join(path, 'cgroup.subtree_control'), `+${controller}`);
    } catch (error) {
      missing.push(toMissing(controller, group, error));
    }
  }
  return missing;
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
