import { type BlockedThread, folderOf } from './facts/blocked-threads.js';
import { type HostFiles } from './facts/host-files.js';
import { type ProcessFacts } from './facts/machine-facts.js';
import { type ProcessOwners } from './host/process-owners.js';
import { CpuClocks, readStandstill } from './host/standstill.js';
import { type SeenProcess } from './facts/process-table.js';

const MAX_PARENTS = 5;
const MAX_BLOCKED = 10;

/**
 * What two scans of the processes show: the second one, the threads that were blocked and the processes that were dead in both. A
 * parent may need a moment to collect those that ended at once.
 */
export async function summarizeProcesses(
  files: HostFiles,
  {
    before,
    after: processes,
  }: { readonly before: readonly SeenProcess[]; readonly after: readonly SeenProcess[] },
  blocked: readonly BlockedThread[],
  owners: ProcessOwners,
): Promise<ProcessFacts> {
  const { zombies, zombieParents } = countZombies(before, processes);
  const clocks = new CpuClocks(files);
  const limitOf = async (name: string): Promise<number> =>
    Number((await files.find(`/proc/sys/kernel/${name}`)) ?? 0);
  return {
    processes: processes.length,
    threads: processes.reduce((sum, { threads }) => sum + threads, 0),
    pidMax: await limitOf('pid_max'),
    threadsMax: await limitOf('threads-max'),
    zombies,
    zombieParents: await Promise.all(
      zombieParents.map(async (parent) => ({ ...parent, ...(await owners.find(parent.pid)) })),
    ),
    blocked: await Promise.all(
      blocked.slice(0, MAX_BLOCKED).map(async (thread) => ({
        ...{ pid: thread.pid, command: thread.command },
        ...(thread.tid === thread.pid ? {} : { thread: thread.tid }),
        ...(await owners.find(thread.pid)),
        ...(await readStandstill(files, thread.pid, { thread: thread.tid, clocks })),
        waitsIn: ((await files.find(`${folderOf(thread)}/wchan`)) ?? '').trim(),
      })),
    ),
    blockedCount: blocked.length,
  };
}

function countZombies(
  before: readonly SeenProcess[],
  processes: readonly SeenProcess[],
): Pick<ProcessFacts, 'zombies' | 'zombieParents'> {
  const keyOf = ({ pid, startTicks }: SeenProcess): string => `${pid}/${startTicks}`;
  const wereDead = new Set(before.filter(({ state }) => state === 'Z').map(keyOf));
  const zombies = processes.filter((each) => each.state === 'Z' && wereDead.has(keyOf(each)));
  const byParent = new Map<number, number>();
  for (const { parent } of zombies) byParent.set(parent, (byParent.get(parent) ?? 0) + 1);
  const names = new Map(processes.map(({ pid, command }) => [pid, command]));
  return {
    zombies: zombies.length,
    zombieParents: [...byParent]
      .sort(([, a], [, b]) => b - a)
      .slice(0, MAX_PARENTS)
      .map(([pid, count]) => ({ pid, command: names.get(pid) ?? '', zombies: count })),
  };
}
