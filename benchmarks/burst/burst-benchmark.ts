/**
 * How long it takes until everybody knows, when every pod of a node changes between two relists.
 *
 * In: a synthetic runtime whose status calls each take a while, as they do on a busy node. Out, for each number of
 * inspections beside one another: the time from the begin of the relist to its last event. One beside another is the
 * same generator with a single place, which is what inspecting pods in their order costs. They take turns.
 *
 * @module
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { CriClient } from '../../src/cri/client.js';
import { Pleg } from '../../src/pleg/pleg.js';
import { CriRuntime } from '../../src/runtime/cri-runtime.js';
import { type SyntheticRuntime, spawnSyntheticRuntime } from '../../src/testing/synthetic-runtime/index.js';
import { type Progress } from '../progress.js';
import { bootstrapRatio, type Estimate, mean, median, quantile } from '../stats.js';

export interface BurstBenchmarkOptions {
  readonly pods: number;
  /** What each status call takes, in milliseconds. */
  readonly statusMs: number;
  /** Inspections beside one another; 1 is measured too, and is what the others are held against. */
  readonly concurrencies: readonly number[];
  readonly rounds: number;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

/** What was found at one number of places. */
export interface BurstFigures {
  readonly concurrency: number;
  readonly medianMs: number;
  readonly longestMs: number;
  /** How many times faster than with one place. */
  readonly speedUp: Estimate;
  /** Delay of the event loop through the bursts, milliseconds. */
  readonly loopP999Ms: number;
  readonly loopMaxMs: number;
  /** Of every round, in their order. */
  readonly lastEventMs: readonly number[];
}

/** Bursts that are not counted: in them code is compiled, on both sides. Their status calls take no time of their own. */
const WARM_UP_BURSTS = 3;

interface Burst {
  readonly lastEventMs: number;
  readonly loopP999Ms: number;
  readonly loopMaxMs: number;
}

/** Runs the benchmark: one side after the other in each round, and who begins changes. */
export async function runBurstBenchmark(options: BurstBenchmarkOptions): Promise<BurstFigures[]> {
  const { pods, concurrencies, rounds, progress, signal } = options;
  const sides = [1, ...concurrencies.filter((places) => places !== 1)];
  progress.begin(`burst: ${pods} pods`);
  await using synthetic = await spawnSyntheticRuntime({ pods, containersPerPod: 1 });
  for (let burst = 0; burst < WARM_UP_BURSTS; burst++)
    await measureBurst(synthetic, Math.max(...sides), { ...options, statusMs: 0 });
  const bursts = new Map<number, Burst[]>(sides.map((places) => [places, []]));
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < sides.length; turn++) {
      signal.throwIfAborted();
      const places = sides[(round + turn) % sides.length]!;
      bursts.get(places)!.push(await measureBurst(synthetic, places, options));
    }
    progress.step(round + 1, rounds, 'rounds');
  }
  const single = bursts.get(1)!.map(({ lastEventMs }) => lastEventMs);
  return sides.map((places) => toFigures(places, bursts.get(places)!, single));
}

/** Ends a container of every pod behind a generator's back, and times the relist that finds it. */
async function measureBurst(
  { endpoint, control }: SyntheticRuntime,
  places: number,
  { pods, statusMs, signal }: BurstBenchmarkOptions,
): Promise<Burst> {
  const client = new CriClient({ endpoint });
  const pleg = new Pleg({
    ...{ runtime: new CriRuntime({ client }), mode: 'generic', inspectConcurrency: places },
    // Those that wait for a place are not slow.
    inspectBudgetMs: 60_000,
  });
  await pleg.relist(signal);
  await using subscription = pleg.subscribe({ capacity: 4 * pods });
  const killed = await control.kill({ count: pods });
  await control.setFaults({ statusDelayMs: statusMs });
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  try {
    const beganMs = performance.now();
    const waited = new Set(killed.map(({ id }) => id));
    const relisted = pleg.relist(signal);
    let lastEventMs = 0;
    for await (const event of subscription) {
      if (event.type === 'ContainerDied' && waited.delete(event.containerId))
        lastEventMs = performance.now() - beganMs;
      if (waited.size === 0) break;
    }
    await relisted;
    delay.disable();
    return { lastEventMs, loopP999Ms: delay.percentile(99.9) / 1e6, loopMaxMs: delay.max / 1e6 };
  } finally {
    delay.disable();
    client.close();
    await control.setFaults({ statusDelayMs: 0 });
    const containerIds = killed.map(({ id }) => id);
    await control.restart({ containerIds });
    await control.remove({ containerIds });
  }
}

function toFigures(concurrency: number, bursts: readonly Burst[], single: readonly number[]): BurstFigures {
  const times = bursts.map(({ lastEventMs }) => lastEventMs);
  return {
    concurrency,
    medianMs: median(times),
    longestMs: quantile(times, 1),
    speedUp: bootstrapRatio(single, times, mean),
    loopP999Ms: Math.max(...bursts.map(({ loopP999Ms }) => loopP999Ms)),
    loopMaxMs: Math.max(...bursts.map(({ loopMaxMs }) => loopMaxMs)),
    lastEventMs: times,
  };
}
