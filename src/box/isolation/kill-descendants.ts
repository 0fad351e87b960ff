import { readlinkSync } from 'node:fs';
import { killSeen } from '#base/proc/kill-group.js';
import { type ProcessStat } from '#base/proc/process-identity.js';
import { findChildren } from '../process/children-of.js';

/** Deeper trees are none that a command in a container begins with. */
const DEEPEST = 32;

/**
 * Kills, with SIGKILL, what a process has started, what that has started and so on, with the process groups that
 * they lead. What has cut itself off from its parents is not found.
 *
 * Where some of them are in another pid namespace than ours, only those are killed: the others led them in, wait for
 * them and end by themselves. Killed, too, they would leave the dead to the host's first process, which may let them
 * lie for a while, visible to the whole container.
 *
 * @param pid a child of ours whose exit we have not seen, so that the number cannot be anybody else's.
 * @returns whether the process ends by itself now.
 */
export function killDescendants(pid: number): boolean {
  const all = descendantsOf(pid, 0);
  const own = findPidNamespace('self');
  const inside = all.filter((each) => ![own, undefined].includes(findPidNamespace(each.pid)));
  for (const each of inside.length > 0 ? inside : all) killSeen(each);
  return inside.length > 0;
}

function findPidNamespace(pid: number | 'self'): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`);
  } catch {
    return undefined;
  }
}

function descendantsOf(pid: number, depth: number): ProcessStat[] {
  if (depth > DEEPEST) return [];
  return findChildren(pid).flatMap((child) => [child, ...descendantsOf(child.pid, depth + 1)]);
}
