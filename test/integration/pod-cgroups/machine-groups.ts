import { accessSync, constants, readFileSync } from 'node:fs';
import { readdir, readFile, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { findCgroupMountpoints, findCgroupMounts } from '#base/proc/cgroups/cgroup-mounts.js';

const mountinfo = readFileSync('/proc/self/mountinfo', 'utf8');
const MOUNTPOINTS = findCgroupMountpoints(mountinfo);
const cpuTree = findCgroupMounts(mountinfo).find(
  ({ version, controllers }) => version === 2 || controllers.includes('cpu'),
);

/** Whether root may write to a tree with the cpu controller here. */
export const mayWriteGroups =
  process.getuid?.() === 0 && cpuTree !== undefined && isWritable(cpuTree.mountpoint);

/** The group of a process, by controller; all of version 2 under an empty name. */
async function groupsOf(pid: number): Promise<ReadonlyMap<string, string>> {
  const lines = (await readFile(`/proc/${pid}/cgroup`, 'utf8')).trim().split('\n');
  return new Map(
    lines.flatMap((line) => {
      const [, controllers = '', ...path] = line.split(':');
      return controllers.split(',').map((name): [string, string] => [name, path.join(':')]);
    }),
  );
}

/** The group of a process in which its share of the CPU is counted. */
export async function cpuGroupOf(pid: number): Promise<string> {
  const groups = await groupsOf(pid);
  return groups.get('cpu') ?? groups.get('') ?? '';
}

/** What a group weighs: `cpu.shares`, or `cpu.weight` on version 2. */
export async function readWeight(group: string): Promise<string> {
  const { mountpoint, version } = cpuTree!;
  const file = version === 1 ? 'cpu.shares' : 'cpu.weight';
  return (await readFile(join(mountpoint, group, file), 'utf8')).trim();
}

/** The trees in which there is a group of that path. */
export async function treesWith(group: string): Promise<string[]> {
  const found: string[] = [];
  for (const mountpoint of MOUNTPOINTS) {
    const there = await readdir(join(mountpoint, group)).then(
      () => true,
      () => false,
    );
    if (there) found.push(mountpoint);
  }
  return found;
}

/** Removes groups that a test has made, from all trees, where they are empty; in that order. */
export async function removeGroups(...groups: readonly string[]): Promise<void> {
  for (const group of groups) {
    for (const mountpoint of MOUNTPOINTS) await rmdir(join(mountpoint, group)).catch(() => undefined);
  }
}

/** The process with a word in its command line, once there is one; not what it forks, which is called the same. */
export async function findByWord(word: string): Promise<number | undefined> {
  const parents = new Map<number, number>();
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const read = (file: string): Promise<string> => readFile(`/proc/${name}/${file}`, 'utf8').catch(() => '');
    if (!(await read('cmdline')).split('\0').includes(word)) continue;
    parents.set(Number(name), Number(/^PPid:\s*(\d+)$/m.exec(await read('status'))?.[1] ?? 0));
  }
  return [...parents].find(([, parent]) => parent > 0 && !parents.has(parent))?.[0];
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
