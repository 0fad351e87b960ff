import { type HostFiles } from './host-files.js';
import { type NamedProcess } from '../host/host-facts.js';
import { findFrozenCgroup, findSwitches } from '../host/process-state.js';
import { parseProcess, readStateIn, type SeenProcess } from './process-table.js';

/** A thread in uninterruptible sleep. */
export interface BlockedThread extends NamedProcess {
  /** The pid, of the first thread of a process. */
  readonly tid: number;
  readonly startTicks: string;
  /** How often it has run, as far as the kernel says. */
  readonly switches: string;
}

/** Maximum of further threads of processes to read; a large node has some thousands. */
const MAX_THREADS = 10_000;
/** Programs whose threads are read first, if there are more. */
const FIRST = /^(containerd|crio|conmon|dockerd|runc|crun|kubelet)/;

/** Where the kernel describes a thread. */
export function folderOf({ pid, tid }: Pick<BlockedThread, 'pid' | 'tid'>): string {
  return tid === pid ? `/proc/${pid}` : `/proc/${pid}/task/${tid}`;
}

/**
 * The threads of these processes that are blocked now. The table of processes shows the first thread of each alone, and
 * a runtime that hangs does so in one of its others.
 */
export async function readBlocked(
  files: HostFiles,
  processes: readonly SeenProcess[],
): Promise<BlockedThread[]> {
  const blocked: BlockedThread[] = [];
  for (const { pid, command } of processes.filter(({ state }) => state === 'D')) {
    const thread = await readThread(files, { pid, command, tid: pid });
    if (thread !== undefined) blocked.push(thread);
  }
  const withMore = processes.filter(({ threads }) => threads > 1);
  const [first, others] = [true, false].map((is) =>
    withMore.filter(({ command }) => FIRST.test(command) === is),
  );
  let read = 0;
  for (const { pid, command } of [...first!, ...others!]) {
    if (read >= MAX_THREADS) break;
    const names = await files.list(`/proc/${pid}/task`).catch(() => []);
    const tids = names
      .map(Number)
      .filter((tid) => tid !== pid)
      .slice(0, MAX_THREADS - read);
    read += tids.length;
    const lines = await files.findAllAtOnce(tids.map((tid) => `${folderOf({ pid, tid })}/stat`));
    for (const [at, line] of lines.entries()) {
      if (line === undefined || readStateIn(line).state !== 'D') continue;
      const thread = await readThread(files, { pid, command, tid: tids[at]! });
      if (thread !== undefined) blocked.push(thread);
    }
  }
  return blocked;
}

/**
 * Those that are still blocked and have not run since: every read from a disk blocks for a moment. What is frozen with
 * its cgroup looks the same and waits for nobody.
 */
export async function findStillBlocked(
  files: HostFiles,
  earlier: readonly BlockedThread[],
): Promise<BlockedThread[]> {
  const now = await Promise.all(earlier.map((thread) => readThread(files, thread)));
  const still = earlier.filter(
    ({ startTicks, switches }, at) => now[at]?.startTicks === startTicks && now[at].switches === switches,
  );
  const frozen = new Map<number, boolean>();
  for (const pid of new Set(still.map((thread) => thread.pid)))
    frozen.set(pid, (await findFrozenCgroup(files, pid)) !== undefined);
  return still.filter(({ pid }) => frozen.get(pid) === false);
}

/** Undefined when it is gone, or not blocked. */
async function readThread(
  files: HostFiles,
  { pid, command, tid }: Pick<BlockedThread, 'pid' | 'command' | 'tid'>,
): Promise<BlockedThread | undefined> {
  const line = await files.find(`${folderOf({ pid, tid })}/stat`);
  const thread = line === undefined ? undefined : parseProcess(line);
  if (thread?.state !== 'D') return undefined;
  const status = (await files.find(`${folderOf({ pid, tid })}/status`)) ?? '';
  return { pid, command, tid, startTicks: thread.startTicks, switches: findSwitches(status) };
}
