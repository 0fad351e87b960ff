import { type ChildProcess } from 'node:child_process';
import { once } from 'node:events';

/** Ends a process as Ctrl-C would, and by force when that takes longer than told; nothing when it has ended. */
export async function endProcess(child: ChildProcess, patienceMs: number): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  const force = setTimeout(() => child.kill('SIGKILL'), patienceMs);
  await ended;
  clearTimeout(force);
}
