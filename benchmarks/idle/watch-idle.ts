/**
 * What processes on which nothing happens use, all over the same minutes: CPU, wake-ups, memory and pauses of the garbage
 * collector, in windows.
 *
 * @module
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type BenchProcess } from '../agents/bench-process.js';
import { type GcPauses, type PauseFigures } from '../agents/gc-pauses.js';
import { type MemoryNode } from '../agents/memory-node.js';
import { type ProcessUsage, readProcessUsage, usageBetween } from '../agents/process-usage.js';
import { type Progress } from '../progress.js';
import { median } from '../stats.js';

/** A process, and what listens to its collector. */
export interface WatchedProcess {
  readonly process: BenchProcess;
  readonly pauses: GcPauses;
}

/** What was found of one process. */
export interface ProcessFigures {
  /** Of one core, percent. */
  readonly cpuPercent: number;
  readonly cpuSeconds: number;
  readonly wakeUpsPerSecond: number;
  /** The median. */
  readonly rssMiB: number;
  /** Of the garbage collector, in all. */
  readonly pauses: PauseFigures;
  /** Of every window, in their order. */
  readonly windowCpuMs: readonly number[];
}

export interface WatchIdleOptions {
  readonly seconds: number;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

/** CPU is read so often: a window is one round of a comparison. */
export const WINDOW_S = 10;
/** Deaths, each announced by the runtime, after which a generator in mode auto trusts its events. */
const WARM_UP_DEATHS = 20;
/** What the warm-up has set off is over by then, collections of dead containers included, and auto's period is at its longest. */
const SETTLE_MS = 90_000;
const SHORT_SETTLE_MS = 15_000;

/** So many whole windows fit, and at least one. */
export function countWindows(seconds: number): number {
  return Math.max(1, Math.floor(seconds / WINDOW_S));
}

/** Ends containers, one of each of some pods, and waits until they have been restarted. */
export async function warmUp(node: MemoryNode, pods: number, signal: AbortSignal): Promise<void> {
  const ended = node.runtime.pods.running().slice(0, Math.min(pods, WARM_UP_DEATHS));
  for (const { id } of ended) {
    node.runtime.pods.end(id, 1);
    await sleep(100, undefined, { signal });
  }
  await node.untilRunning(pods, signal);
}

/** Until all is quiet after {@link warmUp}; a short run has less of it. */
export async function settle(seconds: number, signal: AbortSignal): Promise<void> {
  await sleep(seconds < 120 ? SHORT_SETTLE_MS : SETTLE_MS, undefined, { signal });
}

/** Of each process in its order, over {@link countWindows} windows. */
export async function watchIdle(
  watched: readonly WatchedProcess[],
  { seconds, progress, signal }: WatchIdleOptions,
): Promise<ProcessFigures[]> {
  const windows = watched.map((): ProcessUsage[] => []);
  const count = countWindows(seconds);
  for (const { pauses } of watched) pauses.take();
  let before = watched.map(({ process }) => readProcessUsage(process.pid));
  for (let window = 0; window < count; window++) {
    await sleep(WINDOW_S * 1_000, undefined, { signal });
    const after = watched.map(({ process }) => readProcessUsage(process.pid));
    for (const [at, usage] of after.entries()) windows[at]!.push(usageBetween(before[at]!, usage));
    before = after;
    progress.step((window + 1) * WINDOW_S, count * WINDOW_S, 'seconds');
  }
  return watched.map(({ pauses }, at) => toFigures(windows[at]!, pauses.take()));
}

function toFigures(windows: readonly ProcessUsage[], pauses: PauseFigures): ProcessFigures {
  const cpuMs = windows.map((window) => window.cpuMs);
  const seconds = windows.length * WINDOW_S;
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  return {
    cpuPercent: sum(cpuMs) / seconds / 10,
    cpuSeconds: sum(cpuMs) / 1_000,
    wakeUpsPerSecond: sum(windows.map(({ wakeUps }) => wakeUps)) / seconds,
    rssMiB: median(windows.map(({ rssMiB }) => rssMiB)),
    ...{ pauses, windowCpuMs: cpuMs },
  };
}
