import { readdirSync, readFileSync } from 'node:fs';
import { findProcess, type ProcessStat } from '#base/proc/process-identity.js';

/** The children of a process now, whichever of its threads has started them; none when it is gone. */
export function childrenOf(pid: number): readonly number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, 'latin1').split(' ').filter(Boolean).map(Number),
    );
  } catch {
    return [];
  }
}

/** The same, identified: a number that has gone to somebody else's child meanwhile is left out. */
export function findChildren(pid: number): readonly ProcessStat[] {
  return childrenOf(pid)
    .map(findProcess)
    .filter((child) => child?.parent === pid) as ProcessStat[];
}
