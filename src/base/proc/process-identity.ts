import { readFileSync } from 'node:fs';
import { splitStatLine } from './proc-text.js';

/** Identifies a process, as its pid alone may belong to another process later. Valid within one boot. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Field 22 of /proc/PID/stat: clock ticks from boot to the start of the process. */
  readonly startTicks: string;
}

/** The fields of /proc/PID/stat that are used here. See proc_pid_stat(5). */
export interface ProcessStat extends ProcessIdentity {
  /** R, S, D, Z … */
  readonly state: string;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
}

/** Parses a line of /proc/PID/stat; undefined if it is incomplete. */
export function parseProcessStat(line: string): ProcessStat | undefined {
  const stat = splitStatLine(line);
  const [state, startTicks] = [stat?.field(3), stat?.field(22)];
  if (stat === undefined || state === undefined || startTicks === undefined) return undefined;
  const [parent, group, session] = [4, 5, 6].map((number) => Number(stat.field(number)));
  return { pid: stat.pid, state, parent: parent!, group: group!, session: session!, startTicks };
}

/** The process that has this pid now, or undefined. */
export function findProcess(pid: number): ProcessStat | undefined {
  try {
    return parseProcessStat(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return undefined;
  }
}

/** Whether a process is stopped by a signal or a debugger. */
export function isStopped({ state }: Pick<ProcessStat, 'state'>): boolean {
  return state === 'T' || state === 't';
}

/** Whether exactly this process still runs. A zombie does not. */
export function isAlive(identity: ProcessIdentity): boolean {
  const process = findProcess(identity.pid);
  return process?.startTicks === identity.startTicks && process.state !== 'Z' && process.state !== 'X';
}
