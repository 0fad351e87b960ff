/**
 * How long it takes from the start of a process until it is of use, on a node with many pods; and how long a new pod
 * takes there.
 *
 * In: a runtime in memory whose pods an agent has made. Out: the time until `podloop watch` has told of the first
 * container and of the last, until an agent that comes after one that was killed is healthy, and from a manifest to
 * its container, apart from the runtime's own calls. A program of one line shows what Node itself takes; they take turns.
 *
 * @module
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { coveredMs } from '../agents/covered-time.js';
import { MemoryNode } from '../agents/memory-node.js';
import { waitUntilHealthy } from '../agents/is-healthy.js';
import { readTrace, traceFlags } from '../agents/trace-calls.js';
import { type Progress } from '../progress.js';
import { median, quantile } from '../stats.js';
import { CLOCK_STEP_MS, measureWallOffsetMs } from '../wall-clock.js';
import { withDeadline } from '../with-deadline.js';

export interface StartupBenchmarkOptions {
  readonly pods: number;
  readonly rounds: number;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

/** How long something took in each round, milliseconds. */
export interface StartupFigures {
  /** Short, for plots. */
  readonly name: string;
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
  /** From the manifest to the container: all of it, while a call of the runtime was not answered, and the rest. */
  readonly podStarts: readonly StartupFigures[];
}

const STARTUPS = {
  node: 'node, a program of one line',
  'watch, first': 'podloop watch, to the first container',
  'watch, last': 'podloop watch, to the last container',
  'run, healthy': 'podloop run after kill -9, to healthy',
} as const;
/** Until an agent that has just come has done what it does at its start. */
const SETTLE_MS = 3_000;
const POLL_MS = 5;
const POD_START_MS = 60_000;
const NODE_MS = 300_000;

/** Runs the benchmark. */
export async function runStartupBenchmark(
  options: StartupBenchmarkOptions,
): Promise<StartupBenchmarkFigures> {
  const { pods, rounds, progress, signal } = options;
  progress.begin(`startup: ${pods} pods`);
  await using node = await MemoryNode.start();
  await node.writeManifests(pods);
  let agent = await node.startAgent(['--stop-pods']);
  await withDeadline(`until ${pods} pods run`, NODE_MS, signal, async (within) =>
    node.untilRunning(pods, within),
  );
  const ids = new Set(node.runtime.pods.running().map(({ id }) => id));
  const took = new Map<keyof typeof STARTUPS, number[]>();
  const note = (name: keyof typeof STARTUPS, ms: number): void =>
    void took.set(name, [...(took.get(name) ?? []), ms]);
  for (let round = 0; round < rounds; round++) {
    signal.throwIfAborted();
    note('node', await timeBareNode());
    const { firstMs, lastMs } = await timeWatch(node, pods, signal);
    note('watch, first', firstMs);
    note('watch, last', lastMs);
    await node.kill(agent);
    const beganMs = performance.now();
    agent = await node.startAgent(['--stop-pods']);
    await waitUntilHealthy(node, signal);
    note('run, healthy', performance.now() - beganMs);
    await sleep(SETTLE_MS, undefined, { signal });
    const restarted = node.runtime.pods.running().filter(({ id }) => !ids.has(id));
    if (restarted.length > 0) throw new Error(`${restarted.length} containers were restarted with the agent`);
    progress.step(round + 1, rounds, 'rounds');
  }
  await node.kill(agent);
  const podStarts = await timePodStarts(node, options);
  return {
    pods,
    startups: [...took].map(([name, times]) => toFigures(name, STARTUPS[name], times)),
    podStarts: [
      toFigures(
        'new pod',
        'from the manifest’s move into the folder to its container',
        podStarts.map(({ totalMs }) => totalMs),
      ),
      toFigures(
        'calls',
        'of that, while the runtime had a call to answer',
        podStarts.map(({ callsMs }) => callsMs),
      ),
      toFigures(
        'podloop',
        'of that, podloop',
        podStarts.map(({ totalMs, callsMs }) => totalMs - callsMs),
      ),
    ],
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
  await withDeadline('until podloop watch has told of all containers', NODE_MS, signal, async (within) => {
    while (started < pods) await sleep(POLL_MS, undefined, { signal: within });
  });
  await node.kill(watch);
  return { firstMs, lastMs };
}

interface PodStart {
  readonly totalMs: number;
  readonly callsMs: number;
}

/** New pods, one at a time, on an agent whose calls are traced. */
async function timePodStarts(
  node: MemoryNode,
  { pods, rounds, progress, signal }: StartupBenchmarkOptions,
): Promise<PodStart[]> {
  const traceFile = path.join(node.folder, 'trace.json');
  const agent = await node.startAgent([], { nodeFlags: traceFlags(traceFile) });
  await waitUntilHealthy(node, signal);
  await sleep(SETTLE_MS, undefined, { signal });
  const spans = [];
  for (let pod = 0; pod < rounds; pod++) {
    spans.push(await timePodStart(node, `new-${pod}`, pods + pod + 1, signal));
    progress.step(pod + 1, rounds, 'new pods');
  }
  await node.end(agent);
  const { calls } = await readTrace(traceFile);
  return spans.map(({ uid, movedMs, startedMs }) => {
    // Whether the image is there is asked for no pod in particular; nobody else asks at the time.
    const own = calls.filter(({ podUid, method }) => podUid === uid || method === 'ImageStatus');
    return { totalMs: startedMs - movedMs, callsMs: coveredMs(own, movedMs, startedMs) };
  });
}

async function timePodStart(
  node: MemoryNode,
  name: string,
  running: number,
  signal: AbortSignal,
): Promise<{ readonly uid: string; readonly movedMs: number; readonly startedMs: number }> {
  // Of the wall clock, by which the runtime tells of its containers.
  const offsetMs = measureWallOffsetMs();
  const movedMs = (await node.writeManifest(name)) + offsetMs;
  await withDeadline(`until ${name} runs`, POD_START_MS, signal, async (within) =>
    node.untilRunning(running, within),
  );
  const [newest] = node.runtime.pods
    .running()
    .toSorted((one, other) => Number(other.startedAt - one.startedAt));
  const { startedAt, config } = newest!;
  const uid = config.labels['io.kubernetes.pod.uid'] ?? '';
  return { uid, movedMs, startedMs: Number(startedAt / 1_000_000n) + CLOCK_STEP_MS };
}

function toFigures(name: string, what: string, tookMs: readonly number[]): StartupFigures {
  return {
    ...{ name, what, tookMs },
    p50Ms: median(tookMs),
    p90Ms: quantile(tookMs, 0.9),
    maxMs: quantile(tookMs, 1),
  };
}
