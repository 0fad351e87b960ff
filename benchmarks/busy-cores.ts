import os from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

/** What the machine's CPUs have done since its start, milliseconds of all of them together. */
export interface CpuTimes {
  readonly idleMs: number;
  readonly allMs: number;
}

const LOOK_MS = 3_000;

/**
 * How many cores were busy over three seconds, in which nothing is measured yet: what others do.
 *
 * An average of the machine's load would still have what ran before in it, minutes after its end.
 */
export async function measureBusyCores(signal: AbortSignal): Promise<number> {
  const before = readCpuTimes();
  await sleep(LOOK_MS, undefined, { signal });
  return busyCores(before, readCpuTimes(), os.cpus().length);
}

/** Of so many cores those that were busy between two moments; 0 where no time has passed. */
export function busyCores(before: CpuTimes, after: CpuTimes, cores: number): number {
  const allMs = after.allMs - before.allMs;
  return allMs <= 0 ? 0 : cores * (1 - (after.idleMs - before.idleMs) / allMs);
}

function readCpuTimes(): CpuTimes {
  const times = os.cpus().map(({ times }) => times);
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  return {
    idleMs: sum(times.map(({ idle }) => idle)),
    allMs: sum(times.map((each) => sum(Object.values(each)))),
  };
}
