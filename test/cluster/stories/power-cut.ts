import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

const ROUNDS = 100;
const PAUSE_MS = 100;

/**
 * Kills every process of a node whose files are all in one folder, as a power cut would: agent, runtime, what watches over
 * containers, and what runs in them. Rejects when some come again and again.
 */
export async function cutPower(folder: string): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    const pids = await findProcesses(folder);
    if (pids.length === 0) return;
    for (const pid of pids) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has ended meanwhile.
      }
    }
    await sleep(PAUSE_MS);
  }
  throw new Error(`processes of ${folder} do not end: ${(await findProcesses(folder)).join(', ')}`);
}

/** Those that name the folder on their command line, and all that these have started. */
async function findProcesses(folder: string): Promise<number[]> {
  const found = new Set<number>();
  const parents = new Map<number, number>();
  for (const name of await readdir('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    try {
      const command = await readFile(`/proc/${name}/cmdline`, 'utf8');
      // Who has ended, and waits for its parent to notice, has none.
      if (command === '') continue;
      if (command.includes(folder)) found.add(pid);
      const status = await readFile(`/proc/${name}/status`, 'utf8');
      parents.set(pid, Number(/^PPid:\s+(\d+)/m.exec(status)?.[1]));
    } catch {
      // It has ended meanwhile.
    }
  }
  for (let size = 0; size !== found.size;) {
    size = found.size;
    for (const [pid, parent] of parents) if (found.has(parent)) found.add(pid);
  }
  return [...found];
}
