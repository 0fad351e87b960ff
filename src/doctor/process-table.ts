import { parseProcessStat } from '../util/process-identity.js';
import { type HostFiles } from './host-files.js';
import { type NamedProcess, type ProcessFacts } from './machine-facts.js';

/** A process at one look. */
export interface SeenProcess extends NamedProcess {
  readonly state: string;
  readonly parent: number;
  readonly threads: number;
  readonly startTicks: string;
}

/** More processes than any node has. */
const MOST_PROCESSES = 100_000;
/** Files that are read at once. */
const BATCH = 64;
const MOST_PARENTS = 5;
const MOST_BLOCKED = 10;

/** Every process that there is now; those that end meanwhile are left out. Rejects when there is no /proc. */
export async function readProcesses(files: HostFiles): Promise<SeenProcess[]> {
  const pids = (await files.list('/proc')).filter((name) => /^\d+$/.test(name)).slice(0, MOST_PROCESSES);
  const seen: SeenProcess[] = [];
  for (let from = 0; from < pids.length; from += BATCH) {
    const lines = await Promise.all(
      pids.slice(from, from + BATCH).map((pid) => files.find(`/proc/${pid}/stat`)),
    );
    for (const line of lines) {
      const process = line === undefined ? undefined : parseProcess(line);
      if (process !== undefined) seen.push(process);
    }
  }
  return seen;
}

/** Reads a line of /proc/PID/stat; undefined when it is not whole. */
export function parseProcess(line: string): SeenProcess | undefined {
  const stat = parseProcessStat(line);
  if (stat === undefined) return undefined;
  const command = line.slice(line.indexOf('(') + 1, line.lastIndexOf(')'));
  // Field 20, of which the third is the first behind the name.
  const threads = Number(line.slice(line.lastIndexOf(')') + 2).split(' ')[17] ?? 1);
  const { pid, state, parent, startTicks } = stat;
  return { pid, state, parent, startTicks, command, threads };
}

/** What two looks at the processes say; `waitsIn` gives where in the kernel one waits. */
export async function summarizeProcesses(
  files: HostFiles,
  first: readonly SeenProcess[],
  second: readonly SeenProcess[],
): Promise<ProcessFacts> {
  const blocked = findBlocked(first, second);
  const limitOf = async (name: string): Promise<number> =>
    Number((await files.find(`/proc/sys/kernel/${name}`)) ?? 0);
  return {
    processes: second.length,
    threads: second.reduce((sum, { threads }) => sum + threads, 0),
    pidMax: await limitOf('pid_max'),
    threadsMax: await limitOf('threads-max'),
    ...countZombies(second),
    blocked: await Promise.all(
      blocked.slice(0, MOST_BLOCKED).map(async ({ pid, command }) => ({
        ...{ pid, command },
        waitsIn: ((await files.find(`/proc/${pid}/wchan`)) ?? '').trim(),
      })),
    ),
    blockedCount: blocked.length,
  };
}

/** In uninterruptible sleep at both looks: once is nothing, since whoever reads from a disk is so for a moment. */
export function findBlocked(first: readonly SeenProcess[], second: readonly SeenProcess[]): SeenProcess[] {
  const keyOf = ({ pid, startTicks }: SeenProcess): string => `${pid}/${startTicks}`;
  const before = new Set(first.filter(({ state }) => state === 'D').map(keyOf));
  return second.filter((process) => process.state === 'D' && before.has(keyOf(process)));
}

function countZombies(processes: readonly SeenProcess[]): Pick<ProcessFacts, 'zombies' | 'zombieParents'> {
  const zombies = processes.filter(({ state }) => state === 'Z');
  const byParent = new Map<number, number>();
  for (const { parent } of zombies) byParent.set(parent, (byParent.get(parent) ?? 0) + 1);
  const names = new Map(processes.map(({ pid, command }) => [pid, command]));
  return {
    zombies: zombies.length,
    zombieParents: [...byParent]
      .sort(([, a], [, b]) => b - a)
      .slice(0, MOST_PARENTS)
      .map(([pid, count]) => ({ pid, command: names.get(pid) ?? '', zombies: count })),
  };
}
