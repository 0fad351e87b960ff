/**
 * Ends the processes of a group and of all groups below it, and removes groups.
 *
 * @module
 */
import { join } from 'node:path';
import { type Clock } from '#base/time/clock.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { type CgroupLayout } from '#base/proc/cgroups/cgroup-layout.js';
import { type Hierarchy } from '#base/proc/cgroups/cgroup-mounts.js';
import { type ProcessIdentity } from '../process/child-identity.js';

/** Signals one process; true when it was there. */
export type Killer = (pid: number) => boolean;

/** The process that has a number now. */
export type ProcessFinder = (pid: number) => ProcessIdentity | undefined;

/** A killed process that is not gone by then hangs in the kernel. */
const GONE_MS = 10_000;
/** The first pauses are short: most processes are gone within a few milliseconds. */
const FIRST_PAUSE_MS = 2;
const MAX_PAUSE_MS = 100;

/** The pids in a group and below it, from the tree of our choice; none when it is gone. */
export async function membersOf(layout: CgroupLayout, group: string): Promise<readonly number[]> {
  const anchor = layout.hierarchies[0];
  if (anchor === undefined) return [];
  const groups = await groupsBelow(layout, anchor, group);
  return groups.flatMap((path) => readPids(layout, anchor, path));
}

/**
 * Sends SIGKILL to every process of a group and waits until none is left; false when some are after ten seconds, or
 * the time that the caller has.
 *
 * With version 2 the kernel does it in one step (cgroup.kill, since Linux 5.14). Otherwise the group is frozen
 * where that is possible, so that nothing can fork away, every process is signalled, and the group is thawed;
 * without a freezer it is done again until nobody is left.
 */
export async function killGroup(
  layout: CgroupLayout,
  group: string,
  options: {
    readonly clock: Clock;
    readonly kill: Killer;
    readonly find: ProcessFinder;
    readonly patienceMs?: number;
  },
): Promise<boolean> {
  const { clock, patienceMs = GONE_MS } = options;
  const deadline = clock.monotonicMs() + patienceMs;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(MAX_PAUSE_MS, pause * 2)) {
    if ((await membersOf(layout, group)).length === 0) return true;
    if (clock.monotonicMs() > deadline) return false;
    const done = await killAtOnce(layout, group);
    // Beside trees of version 1 a process may have been stopped half way of joining, before that of version 2.
    if (!done || pause > FIRST_PAUSE_MS) await killFrozen(layout, group, options);
    await clock.sleep(pause);
  }
}

async function killAtOnce({ io, unified }: CgroupLayout, group: string): Promise<boolean> {
  if (unified === undefined) return false;
  try {
    await io.write(join(unified.mountpoint, group, 'cgroup.kill'), '1');
    return true;
  } catch {
    // The file is missing before Linux 5.14 and in threaded groups. Whatever else it is, they are killed one by one.
    return false;
  }
}

async function killFrozen(
  layout: CgroupLayout,
  group: string,
  { kill, find }: { readonly kill: Killer; readonly find: ProcessFinder },
): Promise<void> {
  const state = findFreezer(layout, group);
  await write(layout, state?.path, state?.freeze);
  try {
    for (const member of await identifyMembers(layout, group, find)) {
      if (find(member.pid)?.startTicks === member.startTicks) kill(member.pid);
    }
  } finally {
    // Version 1 delivers the signal only then.
    await write(layout, state?.path, state?.thaw);
  }
}

/**
 * The processes in a group. A number in the group's list may be somebody else's by the time at which its process is looked
 * up. So the list is read again: who has a listed number before and after that second reading is in the group. What came
 * in between is for the next round.
 */
async function identifyMembers(
  layout: CgroupLayout,
  group: string,
  find: ProcessFinder,
): Promise<readonly ProcessIdentity[]> {
  const found = (await membersOf(layout, group)).map(find);
  const listed = new Set(await membersOf(layout, group));
  return found.filter((each) => each !== undefined && listed.has(each.pid)) as ProcessIdentity[];
}

function findFreezer(layout: CgroupLayout, group: string) {
  const v1 = layout.find('freezer');
  if (v1 !== undefined) {
    return { path: join(v1.mountpoint, group, 'freezer.state'), freeze: 'FROZEN', thaw: 'THAWED' };
  }
  const { unified } = layout;
  return unified && { path: join(unified.mountpoint, group, 'cgroup.freeze'), freeze: '1', thaw: '0' };
}

/** A freezer that does not work costs a few more rounds and nothing else. */
async function write({ io }: CgroupLayout, path: string | undefined, text = ''): Promise<void> {
  if (path !== undefined) await io.write(path, text).catch(() => undefined);
}

/**
 * Removes a group and those below it from every tree; false when processes in it did not leave in time. Rejects with
 * the kernel's error when it is about something else than processes; then waiting would be of no use.
 */
export async function removeGroup(
  layout: CgroupLayout,
  group: string,
  { clock, patienceMs = GONE_MS }: { readonly clock: Clock; readonly patienceMs?: number },
): Promise<boolean> {
  const deadline = clock.monotonicMs() + patienceMs;
  // The tree in which groups are looked for comes last, so that a removal that was cut off is found and finished.
  const hierarchies = [...layout.hierarchies].reverse();
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(MAX_PAUSE_MS, pause * 2)) {
    let gone = true;
    for (const hierarchy of hierarchies) gone = gone && (await removeFrom(layout, hierarchy, group));
    if (gone) return true;
    if (clock.monotonicMs() > deadline) return false;
    await clock.sleep(pause);
  }
}

async function removeFrom(layout: CgroupLayout, hierarchy: Hierarchy, group: string): Promise<boolean> {
  const groups = await groupsBelow(layout, hierarchy, group);
  for (const path of [...groups].reverse()) {
    try {
      await layout.io.removeGroup(join(hierarchy.mountpoint, path));
    } catch (error) {
      // Somebody is still there, or has just made a group in it.
      if (['EBUSY', 'ENOTEMPTY'].includes(systemCodeOf(error))) return false;
      if (systemCodeOf(error) !== 'ENOENT') throw error;
    }
  }
  return true;
}

/** A group and all below it, each before those that it holds. */
async function groupsBelow(
  layout: CgroupLayout,
  hierarchy: Hierarchy,
  group: string,
): Promise<readonly string[]> {
  const found = [group];
  for (const path of found) {
    const names = await layout.io.children(join(hierarchy.mountpoint, path));
    found.push(...names.map((name) => `${path}/${name}`));
  }
  return found;
}

function readPids({ io }: CgroupLayout, { mountpoint }: Hierarchy, group: string): number[] {
  const text = io.read(join(mountpoint, group, 'cgroup.procs')) ?? '';
  return (
    text
      .split('\n')
      .map(Number)
      // 0 is a process that our own pid namespace does not show: to signal it would be to signal ourselves.
      .filter((pid) => pid > 0)
  );
}
