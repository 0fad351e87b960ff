/**
 * What an idle relist costs beyond the list calls that it is made of.
 *
 * In: a synthetic runtime in a process of its own. Out, for each size of the node: relists through CriRuntime and
 * Pleg held against {@link BareComparison} over a connection of the same kind, in alternating rounds. It assumes that
 * nothing on the node changes, which is what most relists find.
 *
 * @module
 */
import { CriClient, CriRuntime, Pleg } from '#watch';
import { GrpcTransport } from '../../src/watch/cri/grpc-transport.js';
import { spawnSyntheticRuntime } from '#testing/synthetic-runtime/index.js';
import { BareComparison } from '../lists/bare-lists.js';
import { type Progress } from '../progress.js';
import { bootstrapRatio, type Estimate, mean, median, quantile } from '../stats.js';
import { type LoopUse, probeLoop } from './loop-probe.js';
import { measureUntilNarrow } from './narrow-rounds.js';
import { measureSide, type Run, type SideSamples } from './paired-rounds.js';
import { type RelistParts, RelistSplit, TimedRuntime } from './relist-split.js';

export interface RelistBenchmarkOptions {
  /** Containers on the node; half as many pods. */
  readonly sizes: readonly number[];
  /** Timed rounds of each size, at least. */
  readonly minRounds: number;
  /** More rounds are taken until the intervals are narrow, or for so many milliseconds a size. */
  readonly budgetMs: number;
  /** Rounds with a probe of the event loop. */
  readonly probeRounds: number;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

/** One side's figures, in milliseconds for one relist or one pair of bare calls. */
export interface SideFigures {
  readonly meanMs: number;
  /** What is left when others at work on the machine do not interfere. */
  readonly p10Ms: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly cpuMs: number;
  readonly loop: LoopUse;
  /** Of every round, in their order: for whoever wants to look again. */
  readonly wallMs: readonly number[];
  readonly cpuRoundsMs: readonly number[];
}

/** What was found at one size. */
export interface RelistFigures {
  readonly containers: number;
  readonly pods: number;
  /** Size of both list answers. */
  readonly answerBytes: number;
  readonly rounds: number;
  readonly runsPerRound: number;
  readonly bare: SideFigures;
  readonly relist: SideFigures;
  /** Of relists in the same rounds that were listened to. */
  readonly parts: RelistParts;
  readonly ratioOfMeans: Estimate;
  readonly ratioOfMedians: Estimate;
  readonly ratioOfP10: Estimate;
  readonly cpuRatio: Estimate;
}

/** Sizes are multiples of it. */
export const CONTAINERS_PER_POD = 2;
const WARM_UP_RUNS = 30;

/** Runs the benchmark at every size. */
export async function runRelistBenchmark(options: RelistBenchmarkOptions): Promise<RelistFigures[]> {
  const figures: RelistFigures[] = [];
  for (const size of options.sizes) figures.push(await measureSize(size, options));
  return figures;
}

async function measureSize(containers: number, options: RelistBenchmarkOptions): Promise<RelistFigures> {
  const { progress, probeRounds, signal } = options;
  progress.begin(`relist: ${containers} containers`);
  const pods = containers / CONTAINERS_PER_POD;
  await using synthetic = await spawnSyntheticRuntime({ pods, containersPerPod: CONTAINERS_PER_POD });
  const transport = new GrpcTransport({ socketPath: synthetic.endpoint.replace('unix://', '') });
  const client = new CriClient({ endpoint: synthetic.endpoint });
  const runtime = new TimedRuntime(new CriRuntime({ client }));
  const pleg = new Pleg({ runtime, mode: 'generic' });
  const relist = () => pleg.relist();
  try {
    const lists = await BareComparison.start((path, request) => transport.unary(path, request).answer);
    if (lists.containers !== containers)
      throw new Error(`${lists.containers} containers instead of ${containers}`);
    const listBoth = () => lists.run();
    // The first relist inspects every pod; the idle ones come after it.
    await relist();
    await expectIdle(pleg, relist);
    const warmUp = new RelistSplit(relist, runtime);
    for (const run of [relist, () => warmUp.run(), listBoth]) await measureSide(run, WARM_UP_RUNS);
    const split = new RelistSplit(relist, runtime);
    const {
      runsPerRound,
      samples: [bare, product],
    } = await measureUntilNarrow([listBoth, relist, () => split.run()], options);
    const [bareLoop, relistLoop] = [
      await probeSide(listBoth, probeRounds, signal),
      await probeSide(relist, probeRounds, signal),
    ];
    await expectIdle(pleg, relist);
    return {
      containers,
      pods,
      rounds: bare.wallMs.length,
      runsPerRound,
      bare: toSideFigures(bare, bareLoop),
      relist: toSideFigures(product, relistLoop),
      ...{ parts: split.parts, answerBytes: split.answerBytes },
      ratioOfMeans: bootstrapRatio(product.wallMs, bare.wallMs, mean),
      ratioOfMedians: bootstrapRatio(product.wallMs, bare.wallMs, median),
      ratioOfP10: bootstrapRatio(product.wallMs, bare.wallMs, (values) => quantile(values, 0.1)),
      cpuRatio: bootstrapRatio(product.cpuMs, bare.cpuMs, mean),
    };
  } finally {
    client.close();
    transport.close();
  }
}

/** A relist that inspects would measure something else. */
async function expectIdle(pleg: Pleg, relist: () => Promise<void>): Promise<void> {
  const before = pleg.state().inspections.inspections;
  await relist();
  const made = pleg.state().inspections.inspections - before;
  if (made > 0) throw new Error(`the node is not idle: ${made} pods were inspected`);
}

/** The worst of every round. */
async function probeSide(run: Run, rounds: number, signal: AbortSignal): Promise<LoopUse> {
  const uses: LoopUse[] = [];
  for (let round = 0; round < rounds; round++) {
    signal.throwIfAborted();
    uses.push(await probeLoop(run));
  }
  const worst = (of: keyof LoopUse): number => Math.max(...uses.map((use) => use[of]));
  return {
    longestTurnMs: worst('longestTurnMs'),
    longestDelayMs: worst('longestDelayMs'),
    longestGcMs: worst('longestGcMs'),
    longestTransportMs: worst('longestTransportMs'),
    longestOwnMs: worst('longestOwnMs'),
  };
}

/** Kept no finer than that. */
function toMicroseconds(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}

function toSideFigures(samples: SideSamples, loop: LoopUse): SideFigures {
  return {
    meanMs: mean(samples.wallMs),
    p10Ms: quantile(samples.wallMs, 0.1),
    p50Ms: median(samples.wallMs),
    p99Ms: quantile(samples.wallMs, 0.99),
    cpuMs: mean(samples.cpuMs),
    loop,
    wallMs: samples.wallMs.map(toMicroseconds),
    cpuRoundsMs: samples.cpuMs.map(toMicroseconds),
  };
}
