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
import { CriClient, CriRuntime, Pleg, type Subscription } from '#watch';
import { type SyntheticRuntime, spawnSyntheticRuntime } from '#testing/synthetic-runtime/index.js';
import { type Progress } from '../progress.js';
import { bootstrapRatio, type Estimate, mean, median, quantile } from '../stats.js';
import { withDeadline } from '../with-deadline.js';
import { delaysOf } from './loop-delays.js';

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
  /** By what a due timer was late, of all bursts together, milliseconds. */
  readonly loopP999Ms: number;
  readonly loopMaxMs: number;
  /** Of every round, in their order. */
  readonly lastEventMs: readonly number[];
}

/** Bursts that are not counted: in them code is compiled, on both sides. Their status calls take no time of their own. */
const WARM_UP_BURSTS = 3;

/** Beyond what the status calls take one after the other: something is wrong then. */
const SLACK_MS = 60_000;
const RESOLUTION_MS = 1;

type Killed = Awaited<ReturnType<SyntheticRuntime['control']['kill']>>;

interface Burst {
  readonly lastEventMs: number;
  /** Of each timer that was due meanwhile. */
  readonly loopDelaysMs: readonly number[];
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
  const pleg = new Pleg({ runtime: new CriRuntime({ client }), mode: 'generic', inspectConcurrency: places });
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  let killed: Killed = [];
  try {
    await pleg.relist(signal);
    await using subscription = pleg.subscribe({ capacity: 4 * pods });
    killed = await control.kill({ count: pods });
    await control.setFaults({ statusDelayMs: statusMs });
    delay.enable();
    const lastEventMs = await withDeadline(
      'for the last event of a burst',
      SLACK_MS + 2 * pods * statusMs,
      signal,
      (within) => timeLastEvent(pleg, subscription, killed, within),
    );
    delay.disable();
    return { lastEventMs, loopDelaysMs: delaysOf(delay, RESOLUTION_MS) };
  } finally {
    delay.disable();
    client.close();
    await control.setFaults({ statusDelayMs: 0 });
    const containerIds = killed.map(({ id }) => id);
    await control.restart({ containerIds });
    await control.remove({ containerIds });
  }
}

/** From the begin of a relist to the last event about those that were killed. */
async function timeLastEvent(
  pleg: Pleg,
  subscription: Subscription,
  killed: Killed,
  signal: AbortSignal,
): Promise<number> {
  const waited = new Set(killed.map(({ id }) => id));
  const beganMs = performance.now();
  let lastEventMs = 0;
  const read = async (): Promise<void> => {
    for await (const event of subscription) {
      if (event.type === 'ContainerDied' && waited.delete(event.containerId))
        lastEventMs = performance.now() - beganMs;
      if (waited.size === 0) return;
    }
    throw new Error(`${waited.size} of ${killed.length} ends were never told of`, { cause: signal.reason });
  };
  // Its reader ends with it, and nothing is left waiting.
  const close = (): void => subscription.close();
  signal.addEventListener('abort', close);
  try {
    await Promise.all([pleg.relist(signal), read()]);
  } finally {
    signal.removeEventListener('abort', close);
  }
  return lastEventMs;
}

function toFigures(concurrency: number, bursts: readonly Burst[], single: readonly number[]): BurstFigures {
  const times = bursts.map(({ lastEventMs }) => lastEventMs);
  const delaysMs = bursts.flatMap(({ loopDelaysMs }) => loopDelaysMs);
  return {
    concurrency,
    medianMs: median(times),
    longestMs: quantile(times, 1),
    speedUp: bootstrapRatio(single, times, mean),
    loopP999Ms: quantile(delaysMs, 0.999),
    loopMaxMs: quantile(delaysMs, 1),
    lastEventMs: times,
  };
}
