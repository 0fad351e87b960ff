import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import path from 'node:path';

const FILE = path.join(tmpdir(), 'podloop-incidents.lock');

/**
 * Waits for a place on the machine, for runs beside one another: most incidents are of their own node and share it; one that each doctor
 * of the machine would see has it alone. The lock goes with this process, too.
 */
export async function lockMachine(how: 'alone' | 'shared'): Promise<AsyncDisposable> {
  const mode = how === 'alone' ? '--exclusive' : '--shared';
  const holder = spawn('flock', [mode, FILE, 'sh', '-c', 'echo locked; read -r line'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  await Promise.race([once(holder.stdout, 'data'), rejectOnExit(holder)]);
  return {
    [Symbol.asyncDispose]: async () => {
      const ended = once(holder, 'exit');
      holder.stdin.end();
      await ended;
    },
  };
}

async function rejectOnExit(holder: ReturnType<typeof spawn>): Promise<never> {
  await once(holder, 'exit');
  throw new Error(`flock ${FILE} ended at once`);
}
