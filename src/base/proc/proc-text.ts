/**
 * The text of files below /proc, each line and column in one place. Everything is pure; what cannot be found
 * is undefined.
 *
 * Source: proc_pid_stat(5), proc_pid_status(5), proc_meminfo(5), proc_stat(5), proc_pid_limits(5),
 * proc_pid_net(5), proc_uptime(5).
 *
 * @module
 */

/** The unit of start times and CPU times in /proc, in milliseconds: USER_HZ, the same on every machine. */
export const TICK_MS = 10;

/** How long the machine has been up, of /proc/uptime, in milliseconds. */
export function parseUptimeMs(uptime: string): number {
  return Number.parseFloat(uptime) * 1_000;
}

/** The fields of a line of /proc/PID/stat. */
export interface StatLine {
  readonly pid: number;
  /** The name of the program, which may contain anything. */
  readonly command: string;
  /** A field by its number in proc_pid_stat(5), from 3 on. */
  readonly field: (number: number) => string | undefined;
}

/** Splits a line of /proc/PID/stat; undefined if it does not reach behind the name. */
export function splitStatLine(line: string): StatLine | undefined {
  // The name is in parentheses and may contain parentheses and blanks.
  const end = line.lastIndexOf(')');
  const pid = Number.parseInt(line, 10);
  if (end < 0 || !Number.isInteger(pid)) return undefined;
  const fields = line
    .slice(end + 2)
    .trimEnd()
    .split(' ');
  return {
    pid,
    command: line.slice(line.indexOf('(') + 1, end),
    field: (number) => fields[number - 3],
  };
}

/** A size such as `MemTotal:  10 kB` of /proc/meminfo or /proc/PID/status, in bytes. */
export function findBytes(text: string, name: string): number | undefined {
  const kibibytes = new RegExp(`^${escape(name)}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1];
  return kibibytes === undefined ? undefined : Number(kibibytes) * 1024;
}

/** A set of capabilities of /proc/PID/status, as bits; see capabilities(7). Empty if it is missing. */
export function findCapabilities(status: string, set: 'CapBnd' | 'CapEff' | 'CapPrm'): bigint {
  return BigInt(`0x${new RegExp(`^${set}:\\s*([0-9a-f]+)$`, 'm').exec(status)?.[1] ?? '0'}`);
}

/** Whether a set of capabilities contains the one with that number. */
export function hasCapability(set: bigint, number: bigint): boolean {
  return ((set >> number) & 1n) === 1n;
}

/** A soft limit of /proc/PID/limits, such as `Max open files`; Infinity if it is unlimited. */
export function findSoftLimit(limits: string, name: string): number | undefined {
  const word = new RegExp(`^${escape(name)}\\s+(\\d+|unlimited)\\s`, 'm').exec(limits)?.[1];
  if (word === undefined) return undefined;
  return word === 'unlimited' ? Infinity : Number(word);
}

/** When the machine was started, of /proc/stat, in seconds since the epoch. */
export function findBootSeconds(stat: string): number | undefined {
  const digits = /^btime (\d+)$/m.exec(stat)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

function escape(name: string): string {
  return name.replaceAll(/[()]/g, String.raw`\$&`);
}
