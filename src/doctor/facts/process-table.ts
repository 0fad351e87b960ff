import { splitStatLine } from '#base/proc/proc-text.js';
import { parseProcessStat } from '#base/proc/process-identity.js';
import { type HostFiles } from './host-files.js';
import { type NamedProcess } from '../host/host-facts.js';

/** A process in one scan. */
export interface SeenProcess extends NamedProcess {
  readonly state: string;
  readonly parent: number;
  readonly threads: number;
  readonly startTicks: string;
}

/** More processes than any node has. */
const MAX_PROCESSES = 100_000;
/** Files that are read at once. */
const BATCH = 64;

/** Every process that there is now; those that end meanwhile are left out. Rejects when there is no /proc. */
export async function readProcesses(files: HostFiles): Promise<SeenProcess[]> {
  return await readProcessesOf(files, await listPids(files));
}

/** The ids of all processes, in the order of the kernel. Rejects when there is no /proc. */
export async function listPids(files: HostFiles): Promise<number[]> {
  const names = (await files.list('/proc')).filter((name) => /^\d+$/.test(name));
  return names.slice(0, MAX_PROCESSES).map(Number);
}

/** These processes, without those that have ended. */
export async function readProcessesOf(files: HostFiles, pids: readonly number[]): Promise<SeenProcess[]> {
  const lines = await files.findAllAtOnce(pids.map((pid) => `/proc/${pid}/stat`));
  return lines.flatMap((line) => (line === undefined ? [] : (parseProcess(line) ?? [])));
}

/** Reads for each item, a few dozen files at once; the results are in the order of the items. */
export async function inBatches<Item, Result>(
  items: readonly Item[],
  read: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (let from = 0; from < items.length; from += BATCH) {
    results.push(...(await Promise.all(items.slice(from, from + BATCH).map(async (item) => read(item)))));
  }
  return results;
}

/** The state in a line of /proc/PID/stat, and what stands before it: the pid and the name of the program. */
export function readStateIn(line: string): { readonly state: string; readonly head: string } {
  const end = line.lastIndexOf(')') + 1;
  return { state: line.charAt(end + 1), head: line.slice(0, end) };
}

/** Reads a line of /proc/PID/stat; undefined when it is not whole. */
export function parseProcess(line: string): SeenProcess | undefined {
  const stat = parseProcessStat(line);
  if (stat === undefined) return undefined;
  const { command, field } = splitStatLine(line)!;
  const { pid, state, parent, startTicks } = stat;
  return { pid, state, parent, startTicks, command, threads: Number(field(20) ?? 1) };
}
