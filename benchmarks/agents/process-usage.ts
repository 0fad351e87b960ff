import { readdirSync, readFileSync } from 'node:fs';

/** What a process had used by some moment, with all that it has started: what a tool does for it, it has cost. */
export interface UsageReading {
  /** Of all threads, and of all processes that it has started, those that have ended included. */
  readonly cpuMs: number;
  /** Pages that processes share are counted for each of them. */
  readonly rssMiB: number;
  /** By thread, how often it went to sleep. */
  readonly sleeps: ReadonlyMap<string, number>;
}

/** What a process used between two moments. */
export interface ProcessUsage {
  readonly cpuMs: number;
  /** How often a thread had gone to sleep, and so was woken. */
  readonly wakeUps: number;
  /** At the later moment. */
  readonly rssMiB: number;
}

/** Of Linux, for programs: always 100 a second. */
const MS_PER_TICK = 10;
/** In /proc/PID/stat, from the state on: the parent, and the ticks of itself and of its children that have ended. */
const PARENT = 1;
const TICKS = [11, 12, 13, 14];

/** Reads it from /proc; throws when the process is gone. */
export function readProcessUsage(pid: number): UsageReading {
  const fields = readStat(pid);
  const sleeps = new Map<string, number>();
  const own = readOne(pid, fields, sleeps);
  let { cpuMs, rssMiB } = own;
  for (const [other, stat] of findDescendants(pid)) {
    try {
      const { cpuMs: itsMs, rssMiB: itsMiB } = readOne(other, stat, sleeps);
      [cpuMs, rssMiB] = [cpuMs + itsMs, rssMiB + itsMiB];
    } catch {
      // It has ended meanwhile; what it used is its parent's by the next reading.
    }
  }
  return { cpuMs, rssMiB, sleeps };
}

/** One process, with those of its children that have ended. */
function readOne(
  pid: number,
  stat: readonly string[],
  sleeps: Map<string, number>,
): Pick<UsageReading, 'cpuMs' | 'rssMiB'> {
  const rssMiB = numberOf(readFileSync(`/proc/${pid}/status`, 'latin1'), 'VmRSS') / 1_024;
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    try {
      const status = readFileSync(`/proc/${pid}/task/${task}/status`, 'latin1');
      sleeps.set(task, numberOf(status, 'voluntary_ctxt_switches'));
    } catch {
      // A thread may end at any time.
    }
  }
  const ticks = TICKS.reduce((sum, field) => sum + Number(stat[field]), 0);
  // One that has ended and that nobody has waited for yet has no memory.
  return { cpuMs: ticks * MS_PER_TICK, rssMiB: Number.isNaN(rssMiB) ? 0 : rssMiB };
}

/** Those that a process has started, that these have started, and so on, with their numbers. */
function findDescendants(pid: number): ReadonlyMap<number, readonly string[]> {
  const children = new Map<number, (readonly [pid: number, stat: readonly string[]])[]>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readStat(Number(name));
      const parent = Number(stat[PARENT]);
      children.set(parent, [...(children.get(parent) ?? []), [Number(name), stat]]);
    } catch {
      // It has ended meanwhile.
    }
  }
  const found = new Map<number, readonly string[]>();
  for (const parents = [pid]; parents.length > 0;) {
    for (const [child, stat] of children.get(parents.pop()!) ?? []) {
      found.set(child, stat);
      parents.push(child);
    }
  }
  return found;
}

function readStat(pid: number): readonly string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  // The name may hold anything; what follows it are numbers.
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

/** What came between two readings of one process. */
export function usageBetween(before: UsageReading, after: UsageReading): ProcessUsage {
  let wakeUps = 0;
  for (const [task, count] of after.sleeps) wakeUps += count - (before.sleeps.get(task) ?? 0);
  return { cpuMs: after.cpuMs - before.cpuMs, wakeUps, rssMiB: after.rssMiB };
}

function numberOf(text: string, name: string): number {
  const line = text.split('\n').find((each) => each.startsWith(`${name}:`));
  return Number.parseInt(line?.slice(name.length + 1) ?? '', 10);
}
