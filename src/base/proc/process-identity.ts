import { readFileSync } from 'node:fs';

/** Which process: a pid alone names another process tomorrow. Holds within one boot. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Field 22 of /proc/PID/stat: clock ticks from boot to the start of the process. */
  readonly startTicks: string;
}

/** What a line of /proc/PID/stat says, as far as it is of use here. See proc_pid_stat(5). */
export interface ProcessStat extends ProcessIdentity {
  /** R, S, D, Z … */
  readonly state: string;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
}

/** Reads a line of /proc/PID/stat; undefined when it is not whole. */
export function parseProcessStat(line: string): ProcessStat | undefined {
  // The command's name stands in parentheses and may hold anything, parentheses and spaces too.
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

/** Whether this very process still runs. One that is dead and not yet reaped does not. */
export function isAlive(identity: ProcessIdentity): boolean {
  const process = findProcess(identity.pid);
  return process?.startTicks === identity.startTicks && process.state !== 'Z' && process.state !== 'X';
}
