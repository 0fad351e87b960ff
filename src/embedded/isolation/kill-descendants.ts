import { readdirSync, readFileSync } from 'node:fs';

/** Deeper trees are none that a command in a container begins with. */
const DEEPEST = 32;

/**
 * Kills, with SIGKILL, what a process has started, what that has started and so on, with the process groups that
 * they lead. What has cut itself off from its parents is not found.
 *
 * @param pid a child of ours whose exit we have not seen, so that the number cannot be anybody else's.
 */
export function killDescendants(pid: number): void {
  for (const each of descendantsOf(pid, 0)) {
    for (const target of [-each, each]) {
      try {
        process.kill(target, 'SIGKILL');
      } catch {
        // It has just ended, or leads no group.
      }
    }
  }
}

function descendantsOf(pid: number, depth: number): number[] {
  if (depth > DEEPEST) return [];
  return childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child, depth + 1)]);
}

function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, 'latin1').split(' ').filter(Boolean).map(Number),
    );
  } catch {
    return [];
  }
}
