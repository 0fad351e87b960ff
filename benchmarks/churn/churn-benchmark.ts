/**
 * Many deaths a second for minutes: whether each is told of once, and whether anything grows.
 *
 * In: a synthetic runtime whose containers are killed, replaced and removed at an even pace. Out, for each mode of
 * the generator: deaths that nobody was told of, the depth of a reader's queue, the resident memory of this process
 * over time and what lives in its heap, and how long relists took.
 *
 * @module
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { CriClient, CriRuntime, Pleg } from '#watch';
import { type PlegOptions } from '../../src/watch/pleg/index.js';
import { spawnSyntheticRuntime } from '#testing/synthetic-runtime/index.js';
import { relistEnded } from '#base/channels/pleg-channels.js';
import { type Progress } from '../progress.js';
import { type Estimate, median, quantile } from '../stats.js';
import { DeathLedger, FULL_AFTER_DEATHS } from './death-ledger.js';
import { MemoryOverTime } from './memory-over-time.js';
import { OffHeapNumbers } from './off-heap-numbers.js';
import { floorsOf, slopeOf, type TimedValue } from './slope.js';
import { SyntheticChurn } from './synthetic-churn.js';

type Mode = NonNullable<PlegOptions['mode']>;

export interface ChurnBenchmarkOptions {
  readonly modes: readonly Mode[];
  readonly pods: number;
  readonly deathsPerSecond: number;
  readonly seconds: number;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

/** What was found in one mode. */
export interface ChurnFigures {
  readonly mode: Mode;
  readonly seconds: number;
  /** What the kills really took; more than `seconds` where they were late. */
  readonly elapsedSeconds: number;
  readonly deaths: number;
  /** Asked for, and really made. */
  readonly deathsPerSecond: number;
  readonly madePerSecond: number;
  /** Not told of ten seconds after the last kill. */
  readonly lost: number;
  /** Told of more than once. */
  readonly repeated: number;
  /** Told of containers that nobody killed. */
  readonly unfounded: number;
  /** Folded in the queue of a reader that keeps up. */
  readonly folded: number;
  readonly deepestQueue: number;
  readonly relists: number;
  readonly relistP50Ms: number;
  readonly relistP99Ms: number;
  /** From a container's end to its event. */
  readonly delayP50Ms: number;
  readonly delayP99Ms: number;
  /** From when on memory is looked at: see {@link WARM_UP_SHARE}. */
  readonly warmUpSeconds: number;
  /** Whether the benchmark's own records had stopped growing by then. */
  readonly isSettled: boolean;
  readonly memory: Readonly<Record<MemoryPart, MemoryFigures>>;
}

/** Of {@link MemoryOverTime}. */
export type MemoryPart = 'resident' | 'heap' | 'external' | 'live';

/** MiB; all but the values themselves after a warm-up, and from the least of every twenty seconds. */
export interface MemoryFigures {
  readonly values: TimedValues;
  /** NaN where nothing was seen after the warm-up. */
  readonly first: number;
  readonly last: number;
  readonly growthAnHour: Estimate;
}

/** As two lists: thousands of pairs would each take four lines of the results. */
export interface TimedValues {
  readonly atS: readonly number[];
  readonly value: readonly number[];
}

const TICKS_PER_SECOND = 10;
/** For what is not told of yet, and for what may be told of again when it is removed. */
const LAST_CHANCE_S = 10;
/** For events to be read by who takes them one by one. */
const READING_MS = 500;
const FLOOR_S = 20;
/** Of the run: in it caches fill, code is compiled and, at 50 deaths a second for 600 s, the ledger's sets fill. */
const WARM_UP_SHARE = 0.4;

/** Runs the benchmark in every mode. */
export async function runChurnBenchmark(options: ChurnBenchmarkOptions): Promise<ChurnFigures[]> {
  const figures: ChurnFigures[] = [];
  for (const mode of options.modes) figures.push(await measureMode(mode, options));
  return figures;
}

async function measureMode(mode: Mode, options: ChurnBenchmarkOptions): Promise<ChurnFigures> {
  const { pods, deathsPerSecond, seconds, progress, signal } = options;
  progress.begin(`churn: ${deathsPerSecond} deaths a second, ${mode}`);
  await using synthetic = await spawnSyntheticRuntime({ pods, containersPerPod: 1 });
  const client = new CriClient({ endpoint: synthetic.endpoint });
  const pleg = new Pleg({ runtime: new CriRuntime({ client }), mode });
  // The first look inspects every pod of the node, and whatever looks meanwhile waits for that: it is no relist under churn.
  await pleg.relist(signal);
  const stop = new AbortController();
  const running = pleg.run(stop.signal);
  const ledger = new DeathLedger();
  let deepestQueue = 0;
  const subscription = pleg.subscribe();
  const reading = (async () => {
    for await (const event of subscription) {
      ledger.noteEvent(event);
      deepestQueue = Math.max(deepestQueue, subscription.stats.queued);
    }
  })();
  const relists = new OffHeapNumbers();
  const stopListening = relistEnded.subscribe(({ scope, durationMs }) => {
    if (scope === 'all') relists.push(durationMs);
  });
  const churn = new SyntheticChurn(synthetic.control, (killed) => ledger.noteKilled(killed));
  using memory = new MemoryOverTime();
  try {
    const beganMs = performance.now();
    for (let tick = 0; tick < seconds * TICKS_PER_SECOND; tick++) {
      await sleepUntil(beganMs + (tick * 1_000) / TICKS_PER_SECOND, signal);
      await churn.tick(shareOf(tick, deathsPerSecond));
      if (tick % TICKS_PER_SECOND !== 0) continue;
      const second = tick / TICKS_PER_SECOND;
      memory.sample();
      progress.step(second, seconds, 'seconds');
    }
    await sleepUntil(beganMs + seconds * 1_000, signal);
    const elapsedSeconds = (performance.now() - beganMs) / 1_000;
    progress.step(seconds, seconds, 'seconds');
    // What follows is of a node on which less and less happens.
    const relistsMs = relists.toArray();
    const warmUpSeconds = WARM_UP_SHARE * seconds;
    const figuresOf = (values: readonly TimedValue[]): MemoryFigures => toFigures(values, warmUpSeconds);
    const memoryFigures = {
      resident: figuresOf(memory.resident),
      heap: figuresOf(memory.heap),
      external: figuresOf(memory.external),
      live: figuresOf(memory.live),
    };
    const killedMs = performance.now();
    for (let tick = 0; tick < LAST_CHANCE_S * TICKS_PER_SECOND; tick++) {
      await sleepUntil(killedMs + (tick * 1_000) / TICKS_PER_SECOND, signal);
      await churn.tick(0);
    }
    const lost = ledger.awaited;
    // Only now: whatever was not seen before is seen by it. A mode that waits for events would look again in minutes only.
    await pleg.relist(signal);
    await sleep(READING_MS, undefined, { signal });
    const { folded } = subscription.stats;
    const { delaysMs } = ledger;
    const madePerSecond = ledger.deaths / elapsedSeconds;
    return {
      ...{ mode, seconds, elapsedSeconds, deathsPerSecond, madePerSecond, deepestQueue, folded },
      ...{ warmUpSeconds, isSettled: warmUpSeconds * madePerSecond >= FULL_AFTER_DEATHS },
      unfounded: ledger.unfounded,
      ...{ deaths: ledger.deaths, lost, repeated: ledger.repeated },
      relists: relistsMs.length,
      relistP50Ms: median(relistsMs),
      relistP99Ms: quantile(relistsMs, 0.99),
      delayP50Ms: median(delaysMs),
      delayP99Ms: quantile(delaysMs, 0.99),
      memory: memoryFigures,
    };
  } finally {
    stopListening();
    stop.abort();
    await running;
    subscription.close();
    await reading;
    client.close();
  }
}

function toFigures(values: readonly TimedValue[], warmUpS: number): MemoryFigures {
  const floors = floorsOf(
    values.filter(({ atS }) => atS >= warmUpS),
    FLOOR_S,
  );
  const { value, low, high } = slopeOf(floors);
  return {
    values: { atS: values.map(({ atS }) => atS), value: values.map((each) => each.value) },
    first: floors[0]?.value ?? Number.NaN,
    last: floors.at(-1)?.value ?? Number.NaN,
    growthAnHour: { value: value * 3_600, low: low * 3_600, high: high * 3_600 },
  };
}

/** At once when that is over. */
async function sleepUntil(atMs: number, signal: AbortSignal): Promise<void> {
  await sleep(Math.max(0, atMs - performance.now()), undefined, { signal });
}

/** So many of the deaths of a second belong to this tick: whole ones, evenly spread. */
function shareOf(tick: number, deathsPerSecond: number): number {
  const until = (ticks: number): number => Math.floor((ticks * deathsPerSecond) / TICKS_PER_SECOND);
  return until(tick + 1) - until(tick);
}
