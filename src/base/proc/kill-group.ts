import { type ChildProcess } from 'node:child_process';
import { findProcess, type ProcessStat } from './process-identity.js';

/** A child of this process that leads a group. */
export type GroupLeader = Pick<ChildProcess, 'pid' | 'exitCode' | 'signalCode'>;

/**
 * Kills all processes of the group that a child leads, and does nothing if there are none left.
 *
 * The child was started with `detached`. It may have exited: then the rest of its group is killed.
 */
export function killGroup(leader: GroupLeader): void {
  const { pid } = leader;
  if (pid === undefined) return;
  const hasEnded = leader.exitCode !== null || leader.signalCode !== null;
  if (!isGroupOf(findProcess(pid), { hasEnded, parent: process.pid })) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The whole group has exited by itself, or the child leads no group.
  }
}

/**
 * Whether a group's id still refers to the group of a child.
 *
 * The id stays in use until the child was reaped and the rest of its group is gone. So if a process other
 * than the child has it, nothing is left to kill. Node reaps several children before it reports the first
 * exit, so a child that counts as running may be gone, too.
 *
 * @param holder the process that has the id now.
 */
export function isGroupOf(
  holder: Pick<ProcessStat, 'parent'> | undefined,
  leader: { readonly hasEnded: boolean; readonly parent: number },
): boolean {
  return holder === undefined || (!leader.hasEnded && holder.parent === leader.parent);
}

/** The ids for killing a process that was seen before, with its group if it leads one; none if it is gone. */
export function targetsOf(
  seen: Pick<ProcessStat, 'startTicks'>,
  now: ProcessStat | undefined,
): readonly number[] {
  if (now?.startTicks !== seen.startTicks) return [];
  return now.group === now.pid ? [-now.pid, now.pid] : [now.pid];
}

/**
 * Kills a process that was seen before, with its group if it leads one, unless another process has its pid by
 * now.
 */
export function killSeen(seen: ProcessStat): void {
  for (const target of targetsOf(seen, findProcess(seen.pid))) {
    try {
      process.kill(target, 'SIGKILL');
    } catch {
      // It has just exited.
    }
  }
}
