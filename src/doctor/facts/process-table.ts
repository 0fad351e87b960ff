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
const MOST_PROCESSES = 100_000;
/** Files that are read at once. */
const BATCH = 64;

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
  const { command, field } = splitStatLine(line)!;
  const { pid, state, parent, startTicks } = stat;
  return { pid, state, parent, startTicks, command, threads: Number(field(20) ?? 1) };
}
