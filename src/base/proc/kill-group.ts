import { type ChildProcess } from 'node:child_process';
import { findProcess, type ProcessStat } from './process-identity.js';

/** The child of this process that leads a group. */
export type GroupLeader = Pick<ChildProcess, 'pid' | 'exitCode' | 'signalCode'>;

/**
 * Kills all processes of the group that a child leads, and does nothing when there is none any more.
 *
 * The child was started with `detached`. It may have ended: then what it has left in its group is killed.
 */
export function killGroup(leader: GroupLeader): void {
  const { pid } = leader;
  if (pid === undefined) return;
  const hasEnded = leader.exitCode !== null || leader.signalCode !== null;
  if (!isGroupOf(findProcess(pid), { hasEnded, parent: process.pid })) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // All of it has ended by itself, or it leads no group.
  }
}

/**
 * Whether a group's number still means the group of a child.
 *
 * The number stays taken until the child was reaped and the rest of its group is gone. A process that has it and is not
 * the child therefore proves that nothing is left to kill. Node reaps several children before it reports the first end:
 * one that counts as running may be gone, too.
 *
 * @param holder the process that has the number now.
 */
export function isGroupOf(
  holder: Pick<ProcessStat, 'parent'> | undefined,
  leader: { readonly hasEnded: boolean; readonly parent: number },
): boolean {
  return holder === undefined || (!leader.hasEnded && holder.parent === leader.parent);
}

/** The numbers by which a process that was seen before is killed, with its group if it leads one; none when it is gone. */
export function targetsOf(
  seen: Pick<ProcessStat, 'startTicks'>,
  now: ProcessStat | undefined,
): readonly number[] {
  if (now?.startTicks !== seen.startTicks) return [];
  return now.group === now.pid ? [-now.pid, now.pid] : [now.pid];
}

/** Kills a process that was seen before, with its group if it leads one, unless its number is somebody else's by now. */
export function killSeen(seen: ProcessStat): void {
  for (const target of targetsOf(seen, findProcess(seen.pid))) {
    try {
      process.kill(target, 'SIGKILL');
    } catch {
      // It has just ended.
    }
  }
}
