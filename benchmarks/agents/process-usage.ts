import { readdirSync, readFileSync } from 'node:fs';

/** What a process has used up to now. */
export interface ProcessUsage {
  /** Of all threads, by the scheduler's own account. */
  readonly cpuMs: number;
  /** How often a thread went to sleep, and so was woken. */
  readonly wakeUps: number;
  readonly rssMiB: number;
}

/** Reads it from /proc; throws when the process is gone. */
export function readProcessUsage(pid: number): ProcessUsage {
  let [cpuNs, wakeUps] = [0, 0];
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    const folder = `/proc/${pid}/task/${task}`;
    try {
      cpuNs += Number(readFileSync(`${folder}/schedstat`, 'latin1').split(' ')[0]);
      wakeUps += numberOf(readFileSync(`${folder}/status`, 'latin1'), 'voluntary_ctxt_switches');
    } catch (error) {
      // A thread may end at any time; the process has not.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
  const rssKiB = numberOf(readFileSync(`/proc/${pid}/status`, 'latin1'), 'VmRSS');
  return { cpuMs: cpuNs / 1e6, wakeUps, rssMiB: rssKiB / 1_024 };
}

/** What was used between two readings; the memory is that of the later one. */
export function usageBetween(before: ProcessUsage, after: ProcessUsage): ProcessUsage {
  return {
    cpuMs: after.cpuMs - before.cpuMs,
    wakeUps: after.wakeUps - before.wakeUps,
    rssMiB: after.rssMiB,
  };
}

function numberOf(text: string, name: string): number {
  const line = text.split('\n').find((each) => each.startsWith(`${name}:`));
  return Number.parseInt(line?.slice(name.length + 1) ?? '', 10);
}
