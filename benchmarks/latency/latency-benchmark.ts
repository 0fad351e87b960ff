/**
 * How long after a process ended its death is known, on a real containerd.
 *
 * In: a containerd of its own with a few pods, whose processes are killed one after the other by signal. Out, for
 * each way of finding out: the time from the runtime's FinishedAt to the moment when the exit code is at hand,
 * beside containerd's own native event stream for the same death. One observer is open at a time; they take turns
 * in short blocks, so that none has a quieter machine than the others.
 *
 * @module
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { startContainerd } from '../../test/containerd/harness/containerd.js';
import { type Release } from '../../test/containerd/harness/installed.js';
import { type Progress } from '../progress.js';
import { bootstrapRatio, createRandom, type Estimate, mean, median, quantile } from '../stats.js';
import {
  type DeathObserver,
  openBareObserver,
  type OpenObserver,
  openPlegObserver,
} from './death-observer.js';
import { KillablePods } from './killable-pods.js';
import { NativeEvents } from './native-events.js';

export interface LatencyBenchmarkOptions {
  readonly releases: readonly Release[];
  /** Deaths for each observer and release. */
  readonly deaths: number;
  readonly progress: Progress;
}

/** What one observer needed, in milliseconds from the runtime's FinishedAt. */
export interface ObserverFigures {
  readonly observer: string;
  readonly deaths: number;
  /** Deaths that were not known after ten seconds. */
  readonly missed: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** The native stream's own median for the same deaths. */
  readonly nativeP50Ms: number;
  /** Of the means to that of the bare observer; undefined for the bare observer itself. */
  readonly ratioToBare: Estimate | undefined;
  /** The same of the p99s. */
  readonly p99RatioToBare: Estimate | undefined;
  /** Of every death that became known. */
  readonly observedMs: readonly number[];
}

/** What was found on one release. */
export interface LatencyFigures {
  readonly release: Release;
  readonly containerdVersion: string;
  readonly pods: number;
  readonly observers: readonly ObserverFigures[];
}

interface Sample {
  readonly observedMs: number | undefined;
  readonly nativeMs: number | undefined;
}

const PODS = 20;
const DEATHS_PER_BLOCK = 5;
const MISSED_AFTER_MS = 10_000;
/** Until what the replacement set off has been dealt with. */
const QUIET_MS = 400;
/** The kills fall anywhere in the period of a polling observer. */
const RANDOM_WAIT_MS = 1000;

const OBSERVERS: Readonly<Record<string, OpenObserver>> = {
  bare: openBareObserver,
  generic: openPlegObserver('generic'),
  evented: openPlegObserver('evented'),
  auto: openPlegObserver('auto'),
};

/** Runs the benchmark on every release. */
export async function runLatencyBenchmark(options: LatencyBenchmarkOptions): Promise<LatencyFigures[]> {
  const figures: LatencyFigures[] = [];
  for (const release of options.releases) figures.push(await measureRelease(release, options));
  return figures;
}

async function measureRelease(release: Release, options: LatencyBenchmarkOptions): Promise<LatencyFigures> {
  const { deaths, progress } = options;
  progress.begin(`latency: containerd ${release}`);
  await using containerd = await startContainerd({ version: release });
  const pods = await KillablePods.create(containerd, PODS);
  await using native = await NativeEvents.start(containerd);
  const random = createRandom(7);
  const samples = new Map<string, Sample[]>(Object.keys(OBSERVERS).map((name) => [name, []]));
  const total = deaths * samples.size;
  let done = 0;
  for (let block = 0; block * DEATHS_PER_BLOCK < deaths; block++) {
    for (const [name, open] of Object.entries(OBSERVERS)) {
      await using observer = await open(containerd.endpoint);
      for (let i = 0; i < DEATHS_PER_BLOCK; i++) {
        await sleep(QUIET_MS + RANDOM_WAIT_MS * random());
        samples.get(name)!.push(await measureDeath(pods, native, observer));
        progress.step(++done, total, 'deaths');
      }
    }
  }
  const bare = samples.get('bare')!;
  return {
    release,
    containerdVersion: containerd.packageVersion,
    pods: PODS,
    observers: [...samples].map(([name, own]) => toFigures(name, own, name === 'bare' ? undefined : bare)),
  };
}

async function measureDeath(
  pods: KillablePods,
  native: NativeEvents,
  observer: DeathObserver,
): Promise<Sample> {
  const { containerId, wallOffsetMs } = pods.killNext();
  const observedAtMs = await observer
    .waitForDeath(containerId, AbortSignal.timeout(MISSED_AFTER_MS))
    .catch(() => undefined);
  const finishedAtMs = (await pods.finishedAtMs(containerId)) - wallOffsetMs;
  const nativeAtMs = native.findExit(containerId);
  await pods.replace(containerId);
  return {
    observedMs: observedAtMs === undefined ? undefined : observedAtMs - finishedAtMs,
    nativeMs: nativeAtMs === undefined ? undefined : nativeAtMs - finishedAtMs,
  };
}

function toFigures(
  observer: string,
  samples: readonly Sample[],
  bare: readonly Sample[] | undefined,
): ObserverFigures {
  const observed = samples.map(({ observedMs }) => observedMs).filter((ms) => ms !== undefined);
  const native = samples.map(({ nativeMs }) => nativeMs).filter((ms) => ms !== undefined);
  const pairs = (bare ?? []).flatMap(({ observedMs }, index) => {
    const own = samples[index]?.observedMs;
    return observedMs === undefined || own === undefined ? [] : [[own, observedMs] as const];
  });
  return {
    observer,
    deaths: samples.length,
    missed: samples.length - observed.length,
    p50Ms: median(observed),
    p99Ms: quantile(observed, 0.99),
    maxMs: Math.max(...observed),
    nativeP50Ms: median(native),
    ratioToBare: ratioOf(pairs, mean),
    p99RatioToBare: ratioOf(pairs, (values) => quantile(values, 0.99)),
    observedMs: observed,
  };
}

function ratioOf(
  pairs: readonly (readonly [own: number, bare: number])[],
  statistic: (values: readonly number[]) => number,
): Estimate | undefined {
  if (pairs.length === 0) return undefined;
  const [own, bare] = [pairs.map(([value]) => value), pairs.map(([, value]) => value)];
  return bootstrapRatio(own, bare, statistic);
}
