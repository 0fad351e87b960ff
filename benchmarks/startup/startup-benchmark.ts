/**
 * How long it takes from the start of a process until it is of use, on a node with many pods; and how long a new pod
 * takes there.
 *
 * In: a runtime in memory whose pods an agent has made. Out: the time until `podloop watch` has told of the first
 * container and of the last, until an agent that comes after one that was killed is healthy, and from a manifest to
 * its container. A program of one line shows what Node itself takes; they take turns.
 *
 * @module
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { MemoryNode } from '../agents/memory-node.js';
import { waitUntilHealthy } from '../agents/is-healthy.js';
import { type Progress } from '../progress.js';
import { median, quantile } from '../stats.js';

export interface StartupBenchmarkOptions {
  readonly pods: number;
  readonly rounds: number;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

/** How long something took in each round, milliseconds. */
export interface StartupFigures {
  readonly what: string;
  readonly p50Ms: number;
  readonly p90Ms: number;
  readonly maxMs: number;
  readonly tookMs: readonly number[];
}

/** What was found. */
export interface StartupBenchmarkFigures {
  readonly pods: number;
  readonly startups: readonly StartupFigures[];
  readonly podStarts: StartupFigures;
}

/** Until an agent that has just come has done what it does at its start. */
const SETTLE_MS = 3_000;
const POLL_MS = 5;

/** Runs the benchmark. */
export async function runStartupBenchmark(
  options: StartupBenchmarkOptions,
): Promise<StartupBenchmarkFigures> {
  const { pods, rounds, progress, signal } = options;
  progress.begin(`startup: ${pods} pods`);
  await using node = await MemoryNode.start();
  await node.writeManifests(pods);
  let agent = await node.startAgent(['--stop-pods']);
  await node.untilRunning(pods, signal);
  const ids = new Set(node.runtime.pods.running().map(({ id }) => id));
  const took = new Map<string, number[]>();
  const note = (what: string, ms: number): void => void took.set(what, [...(took.get(what) ?? []), ms]);
  for (let round = 0; round < rounds; round++) {
    signal.throwIfAborted();
    note('node, a program of one line', await timeBareNode());
    const { firstMs, lastMs } = await timeWatch(node, pods, signal);
    note('podloop watch, to the first container', firstMs);
    note(`podloop watch, to the last of ${pods}`, lastMs);
    await node.kill(agent);
    const beganMs = performance.now();
    agent = await node.startAgent(['--stop-pods']);
    await waitUntilHealthy(node, signal);
    note('podloop run after kill -9, to healthy', performance.now() - beganMs);
    await sleep(SETTLE_MS, undefined, { signal });
    const restarted = node.runtime.pods.running().filter(({ id }) => !ids.has(id));
    if (restarted.length > 0) throw new Error(`${restarted.length} containers were restarted with the agent`);
    progress.step(round + 1, rounds, 'rounds');
  }
  const podStarts: number[] = [];
  for (let pod = 0; pod < rounds; pod++) {
    podStarts.push(await timePodStart(node, `new-${pod}`, pods + pod + 1, signal));
    progress.step(pod + 1, rounds, 'new pods');
  }
  return {
    pods,
    startups: [...took].map(([what, times]) => toFigures(what, times)),
    podStarts: toFigures('manifest moved into the folder, to its container started', podStarts),
  };
}

async function timeBareNode(): Promise<number> {
  const beganMs = performance.now();
  const child = spawn(process.execPath, ['-e', 'console.log(1)'], { stdio: ['ignore', 'pipe', 'ignore'] });
  await once(child.stdout, 'data');
  const tookMs = performance.now() - beganMs;
  await once(child, 'close');
  return tookMs;
}

async function timeWatch(
  node: MemoryNode,
  pods: number,
  signal: AbortSignal,
): Promise<{ firstMs: number; lastMs: number }> {
  const beganMs = performance.now();
  let [firstMs, lastMs, started] = [Number.NaN, Number.NaN, 0];
  const watch = await node.startWatch(['-o', 'json'], (line) => {
    const { type, kind } = JSON.parse(line) as { type?: string; kind?: string };
    if (type !== 'ContainerStarted' || kind === 'sandbox') return;
    lastMs = performance.now() - beganMs;
    if (started++ === 0) firstMs = lastMs;
  });
  while (started < pods) await sleep(POLL_MS, undefined, { signal });
  await node.kill(watch);
  return { firstMs, lastMs };
}

async function timePodStart(
  node: MemoryNode,
  name: string,
  running: number,
  signal: AbortSignal,
): Promise<number> {
  const writtenMs = Date.now();
  await node.writeManifest(name);
  await node.untilRunning(running, signal);
  const [newest] = node.runtime.pods
    .running()
    .toSorted((one, other) => Number(other.startedAt - one.startedAt));
  return Number(newest!.startedAt / 1_000_000n) - writtenMs;
}

function toFigures(what: string, tookMs: readonly number[]): StartupFigures {
  return {
    ...{ what, tookMs },
    p50Ms: median(tookMs),
    p90Ms: quantile(tookMs, 0.9),
    maxMs: quantile(tookMs, 1),
  };
}
