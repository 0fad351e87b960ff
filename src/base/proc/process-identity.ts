import { readFileSync } from 'node:fs';

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
  // The command's name is in parentheses and may contain anything, including parentheses and spaces.
  const end = line.lastIndexOf(')');
  const pid = Number.parseInt(line, 10);
  const [state, parent, group, session, ...rest] = line.slice(end + 2).split(' ');
  const startTicks = rest[15];
  if (end < 0 || !Number.isInteger(pid) || state === undefined || startTicks === undefined) return undefined;
  return { pid, state, parent: Number(parent), group: Number(group), session: Number(session), startTicks };
}

/** The process that has this pid now, or undefined. */
export function findProcess(pid: number): ProcessStat | undefined {
  try {
    return parseProcessStat(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return undefined;
  }
}

/** Whether exactly this process still runs. A zombie does not. */
export function isAlive(identity: ProcessIdentity): boolean {
  const process = findProcess(identity.pid);
  return process?.startTicks === identity.startTicks && process.state !== 'Z' && process.state !== 'X';
}
