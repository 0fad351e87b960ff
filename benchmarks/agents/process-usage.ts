import { readdirSync, readFileSync } from 'node:fs';

/** What a process had used by some moment. */
export interface UsageReading {
  /** Of all threads, those that have ended included. */
  readonly cpuMs: number;
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

/** Reads it from /proc; throws when the process is gone. */
export function readProcessUsage(pid: number): UsageReading {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  // The name may hold anything; what follows it are numbers.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const sleeps = new Map<string, number>();
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    try {
      const status = readFileSync(`/proc/${pid}/task/${task}/status`, 'latin1');
      sleeps.set(task, numberOf(status, 'voluntary_ctxt_switches'));
    } catch {
      // A thread may end at any time.
    }
  }
  return {
    cpuMs: (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK,
    rssMiB: numberOf(readFileSync(`/proc/${pid}/status`, 'latin1'), 'VmRSS') / 1_024,
    sleeps,
  };
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
