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
import { GcPauses } from '../agents/gc-pauses.js';
import { MemoryNode } from '../agents/memory-node.js';
import { type Progress } from '../progress.js';
import { bootstrapRatioOfWindows, type Estimate, mean } from '../stats.js';
import {
  countWindows,
  type ProcessFigures,
  settle,
  warmUp,
  watchIdle,
  type WatchedProcess,
  WINDOW_S,
} from './watch-idle.js';

export interface IdleBenchmarkOptions {
  readonly sizes: readonly number[];
  readonly seconds: number;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

/** What was found of one process. */
export interface IdleFigures extends ProcessFigures {
  readonly pods: number;
  /** `agent`, or `generator`: the generator alone, as `podloop watch` runs it. */
  readonly program: Program;
  readonly mode: Mode;
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

interface Watched extends WatchedProcess {
  readonly program: Program;
  readonly mode: Mode;
}

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
  await settle(seconds, signal);
  const listsBefore = MODES.map((mode) => nodes[mode].runtime.count('ListContainers'));
  const found = await watchIdle(watched, { seconds, progress, signal });
  const measuredSeconds = countWindows(seconds) * WINDOW_S;
  const listsPerSecond = MODES.map(
    (mode, at) => (nodes[mode].runtime.count('ListContainers') - listsBefore[at]!) / measuredSeconds,
  );
  const processes = watched.map(({ program, mode }, at) => ({ pods, program, mode, ...found[at]! }));
  const cpuOf = (program: Program, mode: Mode): readonly number[] =>
    processes.find((each) => each.program === program && each.mode === mode)!.windowCpuMs;
  const ratioOf = (program: Program): Estimate =>
    bootstrapRatioOfWindows(cpuOf(program, 'auto'), cpuOf(program, 'generic'), mean);
  return {
    ...{ pods, seconds: measuredSeconds, processes },
    listsPerSecond: Object.fromEntries(MODES.map((mode, at) => [mode, listsPerSecond[at]!])) as Record<
      Mode,
      number
    >,
    ratios: { agent: ratioOf('agent'), generator: ratioOf('generator') },
  };
}
