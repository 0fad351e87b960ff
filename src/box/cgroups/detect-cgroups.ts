import { join } from 'node:path';
import { messageOf } from '#base/errors/errors.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { type CgroupIo } from '#base/proc/cgroups/cgroup-io.js';
import { CgroupLayout } from '#base/proc/cgroups/cgroup-layout.js';
import { findCgroupMounts, type Hierarchy, V2_CONTROLLERS } from '#base/proc/cgroups/cgroup-mounts.js';
import { handDown, toWords } from '#base/proc/cgroups/make-group.js';
import { describeMissing, remedyOf } from '#base/proc/cgroups/missing-controller.js';

/** What can be used of a machine's cgroups, and why not more. */
export interface DetectedCgroups {
  readonly layout: CgroupLayout;
  /** Why a tree is of no use, a sentence each. */
  readonly reasons: readonly string[];
}

/**
 * Finds out which trees of cgroups may be written, by making a group in each and removing it.
 *
 * @param mountinfo the text of /proc/self/mountinfo.
 * @param probe the name of the group that is made.
 */
export async function detectCgroups(
  io: CgroupIo,
  mountinfo: string,
  probe: string,
): Promise<DetectedCgroups> {
  const mounts = findCgroupMounts(mountinfo);
  const taken = mounts.flatMap(({ controllers }) => controllers);
  const usable: Hierarchy[] = [];
  const reasons: string[] = [];
  for (const mount of mounts) {
    try {
      const hierarchy = mount.version === 2 ? await openUnified(io, mount, taken, reasons) : mount;
      await tryGroup(io, join(hierarchy.mountpoint, probe));
      usable.push(hierarchy);
    } catch (error) {
      reasons.push(`${mount.mountpoint} cannot be used: ${systemCodeOf(error) || messageOf(error)}`);
    }
  }
  if (mounts.length === 0) reasons.push('no file system of cgroups is mounted');
  return { layout: new CgroupLayout(io, usable), reasons };
}

/** The controllers that the tree of version 2 can hand down to groups of ours. */
async function openUnified(
  io: CgroupIo,
  mount: Hierarchy,
  taken: readonly string[],
  reasons: string[],
): Promise<Hierarchy> {
  const { mountpoint } = mount;
  const there = toWords(io.read(join(mountpoint, 'cgroup.controllers')));
  const controllers: string[] = [];
  for (const name of V2_CONTROLLERS.filter((each) => there.includes(each) && !taken.includes(each))) {
    // In a container of its own the root of the tree has processes, and may then hand nothing down.
    const [missing] = await handDown(io, { ...mount, controllers: [name] }, '/');
    if (missing === undefined) controllers.push(name);
    else reasons.push(`${mountpoint}: ${describeMissing(missing)}. ${remedyOf(missing)}`);
  }
  return { ...mount, controllers };
}

async function tryGroup(io: CgroupIo, path: string): Promise<void> {
  await io.makeGroup(path).catch((error: unknown) => {
    if (systemCodeOf(error) !== 'EEXIST') throw error;
  });
  await io.removeGroup(path);
}
