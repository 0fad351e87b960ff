/**
 * What it costs to watch over a node on which nothing happens.
 *
 * In: runtimes in memory with so many pods each, one for each mode, and on each an agent and the generator alone, in
 * processes of their own. All of them are measured over the same minutes, so that what the machine does besides hits
 * all alike. Out: CPU, wake-ups, memory and pauses of the garbage collector of each.
 *
 * @module
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type BenchProcess } from '../agents/bench-process.js';
import { GcPauses, type PauseFigures } from '../agents/gc-pauses.js';
import { MemoryNode } from '../agents/memory-node.js';
import { type ProcessUsage, readProcessUsage, usageBetween } from '../agents/process-usage.js';
import { type Progress } from '../progress.js';
import { bootstrapRatio, type Estimate, mean, median } from '../stats.js';

export interface IdleBenchmarkOptions {
  readonly sizes: readonly number[];
  readonly seconds: number;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

/** What was found of one process. */
export interface IdleFigures {
  readonly pods: number;
  /** `agent`, or `generator`: the generator alone, as `podloop watch` runs it. */
  readonly program: Program;
  readonly mode: Mode;
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

/** What was found at one size. */
export interface IdleSizeFigures {
  readonly pods: number;
  readonly seconds: number;
  readonly processes: readonly IdleFigures[];
  /** Lists of all containers that the runtime was asked for by both programs: whether auto had stretched its period. */
  readonly listsPerSecond: Readonly<Record<Mode, number>>;
  /** CPU of auto to that of generic, by window. */
  readonly ratios: Readonly<Record<Program, Estimate>>;
}

export const PROGRAMS = ['agent', 'generator'] as const;
export const MODES = ['generic', 'auto'] as const;
type Program = (typeof PROGRAMS)[number];
type Mode = (typeof MODES)[number];

interface Watched {
  readonly program: Program;
  readonly mode: Mode;
  readonly process: BenchProcess;
  readonly pauses: GcPauses;
}

/** Deaths, each announced by the runtime, after which a generator in mode auto trusts its events. */
const WARM_UP_DEATHS = 20;
/** What the warm-up has set off is over by then, collections of dead containers included, and auto's period is at its longest. */
const SETTLE_MS = 90_000;
const SHORT_SETTLE_MS = 15_000;
/** CPU is read so often: a window is one round of the comparison. */
export const WINDOW_S = 10;

/** Runs the benchmark at every size. */
export async function runIdleBenchmark(options: IdleBenchmarkOptions): Promise<IdleSizeFigures[]> {
  const figures: IdleSizeFigures[] = [];
  for (const pods of options.sizes) figures.push(await measureSize(pods, options));
  return figures;
}

async function measureSize(
  pods: number,
  { seconds, progress, signal }: IdleBenchmarkOptions,
): Promise<IdleSizeFigures> {
  progress.begin(`idle: ${pods} pods`);
  await using generic = await MemoryNode.start();
  await using auto = await MemoryNode.start();
  const nodes: Readonly<Record<Mode, MemoryNode>> = { generic, auto };
  const watched: Watched[] = [];
  for (const mode of MODES) {
    const node = nodes[mode];
    await node.writeManifests(pods);
    const [agentPauses, watchPauses] = [new GcPauses(), new GcPauses()];
    const agent = await node.startAgent(['--mode', mode], agentPauses.processOptions);
    await node.untilRunning(pods, signal);
    watched.push({ program: 'agent', mode, process: agent, pauses: agentPauses });
    const generator = await node.startWatch(
      ['--mode', mode],
      watchPauses.processOptions.onLine,
      watchPauses.processOptions.nodeFlags,
    );
    watched.push({ program: 'generator', mode, process: generator, pauses: watchPauses });
  }
  // The generators have to be there when the warm-up begins.
  await sleep(5_000, undefined, { signal });
  for (const mode of MODES) await warmUp(nodes[mode], pods, signal);
  await sleep(seconds < 120 ? SHORT_SETTLE_MS : SETTLE_MS, undefined, { signal });
  const windows = watched.map((): ProcessUsage[] => []);
  const count = Math.max(1, Math.floor(seconds / WINDOW_S));
  for (const { pauses } of watched) pauses.take();
  const listsBefore = MODES.map((mode) => nodes[mode].runtime.count('ListContainers'));
  let before = watched.map(({ process }) => readProcessUsage(process.pid));
  for (let window = 0; window < count; window++) {
    await sleep(WINDOW_S * 1_000, undefined, { signal });
    const after = watched.map(({ process }) => readProcessUsage(process.pid));
    for (const [at, usage] of after.entries()) windows[at]!.push(usageBetween(before[at]!, usage));
    before = after;
    progress.step((window + 1) * WINDOW_S, count * WINDOW_S, 'seconds');
  }
  const listsPerSecond = MODES.map(
    (mode, at) => (nodes[mode].runtime.count('ListContainers') - listsBefore[at]!) / (count * WINDOW_S),
  );
  const processes = watched.map(({ program, mode, pauses }, at) =>
    toFigures(pods, program, mode, windows[at]!, pauses.take()),
  );
  const cpuOf = (program: Program, mode: Mode): readonly number[] =>
    processes.find((each) => each.program === program && each.mode === mode)!.windowCpuMs;
  const ratioOf = (program: Program): Estimate =>
    bootstrapRatio(cpuOf(program, 'auto'), cpuOf(program, 'generic'), mean);
  return {
    ...{ pods, seconds: count * WINDOW_S, processes },
    listsPerSecond: Object.fromEntries(MODES.map((mode, at) => [mode, listsPerSecond[at]!])) as Record<
      Mode,
      number
    >,
    ratios: { agent: ratioOf('agent'), generator: ratioOf('generator') },
  };
}

/** Ends containers, one of each of some pods, and waits until they have been restarted. */
async function warmUp(node: MemoryNode, pods: number, signal: AbortSignal): Promise<void> {
  const ended = node.runtime.pods.running().slice(0, Math.min(pods, WARM_UP_DEATHS));
  for (const { id } of ended) {
    node.runtime.pods.end(id, 1);
    await sleep(100, undefined, { signal });
  }
  await node.untilRunning(pods, signal);
}

function toFigures(
  pods: number,
  program: Program,
  mode: Mode,
  windows: readonly ProcessUsage[],
  pauses: PauseFigures,
): IdleFigures {
  const cpuMs = windows.map((window) => window.cpuMs);
  const seconds = windows.length * WINDOW_S;
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  return {
    ...{ pods, program, mode, pauses },
    cpuPercent: sum(cpuMs) / seconds / 10,
    cpuSeconds: sum(cpuMs) / 1_000,
    wakeUpsPerSecond: sum(windows.map(({ wakeUps }) => wakeUps)) / seconds,
    rssMiB: median(windows.map(({ rssMiB }) => rssMiB)),
    windowCpuMs: cpuMs,
  };
}
