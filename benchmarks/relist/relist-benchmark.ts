/**
 * What an idle relist costs beyond the list calls that it is made of.
 *
 * In: a synthetic runtime in a process of its own. Out, for each size of the node: relists through CriRuntime and
 * Pleg held against {@link listBare} over a connection of the same kind, in alternating rounds. It assumes that
 * nothing on the node changes, which is what most relists find.
 *
 * @module
 */
import { CriClient } from '../../src/cri/client.js';
import { GrpcTransport } from '../../src/cri/grpc-transport.js';
import { Pleg } from '../../src/pleg/pleg.js';
import { CriRuntime } from '../../src/runtime/cri-runtime.js';
import { type Runtime } from '../../src/runtime/runtime.js';
import { spawnSyntheticRuntime } from '../../src/testing/synthetic-runtime/index.js';
import { criCallEnded } from '../../src/util/channels.js';
import { relistEnded } from '../../src/util/pleg-channels.js';
import { type Progress } from '../progress.js';
import { bootstrapRatio, type Estimate, mean, median, quantile } from '../stats.js';
import { listBare } from './bare-lists.js';
import { type LoopUse, probeLoop } from './loop-probe.js';
import { measurePairedRounds, measureSide, type SideSamples } from './paired-rounds.js';

export interface RelistBenchmarkOptions {
  /** Containers on the node; half as many pods. */
  readonly sizes: readonly number[];
  /** Timed rounds of each size, at least. */
  readonly minRounds: number;
  /** More rounds are taken until the intervals are narrow, or for so many milliseconds a size. */
  readonly budgetMs: number;
  /** Rounds with a probe of the event loop, and rounds that are split into their parts. */
  readonly probeRounds: number;
  readonly progress: Progress;
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
}

/** Where the time of a relist goes: medians in milliseconds. */
export interface RelistParts {
  /** Until both calls were answered, as bytes. */
  readonly callsMs: number;
  /** From there until the runtime handed out its pods: decoding and grouping. */
  readonly decodeMs: number;
  /** Comparing with the records. */
  readonly diffMs: number;
  /** What is left. */
  readonly restMs: number;
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
  readonly parts: RelistParts;
  readonly ratioOfMeans: Estimate;
  readonly ratioOfMedians: Estimate;
  readonly ratioOfP10: Estimate;
  readonly cpuRatio: Estimate;
}

const CONTAINERS_PER_POD = 2;
const WARM_UP_RUNS = 30;
/** Width of an interval of a ratio. */
const NARROW = 0.05;
/** A round takes about that long on each side: shorter ones are at the mercy of the timer and of the scheduler. */
const ROUND_MS = 25;

/** Runs the benchmark at every size. */
export async function runRelistBenchmark(options: RelistBenchmarkOptions): Promise<RelistFigures[]> {
  const figures: RelistFigures[] = [];
  for (const size of options.sizes) figures.push(await measureSize(size, options));
  return figures;
}

async function measureSize(containers: number, options: RelistBenchmarkOptions): Promise<RelistFigures> {
  const { progress, minRounds, budgetMs, probeRounds } = options;
  progress.begin(`relist: ${containers} containers`);
  const pods = Math.ceil(containers / CONTAINERS_PER_POD);
  await using synthetic = await spawnSyntheticRuntime({ pods, containersPerPod: CONTAINERS_PER_POD });
  const transport = new GrpcTransport({ socketPath: synthetic.endpoint.replace('unix://', '') });
  const client = new CriClient({ endpoint: synthetic.endpoint });
  const runtime = new TimedRuntime(new CriRuntime({ client }));
  const pleg = new Pleg({ runtime, mode: 'generic' });
  const listBoth = () => listBare((path, request) => transport.unary(path, request).answer);
  const relist = () => pleg.relist();
  try {
    const { containers: listed } = await listBoth();
    if (listed.length !== containers) throw new Error(`${listed.length} containers instead of ${containers}`);
    // The first relist inspects every pod; the idle ones come after it.
    await relist();
    await expectIdle(pleg, relist);
    for (let i = 0; i < WARM_UP_RUNS; i++) await relist();
    const runsPerRound = await chooseRunsPerRound(listBoth);
    const deadlineMs = performance.now() + budgetMs;
    const [bare, product] = await measurePairedRounds([listBoth, relist], {
      minRounds,
      runsPerRound,
      isEnough: (samples) => performance.now() > deadlineMs || areNarrow(samples),
      onRound: (done) => progress.step(done, Math.ceil(done / minRounds) * minRounds, 'rounds'),
    });
    const [bareLoop, relistLoop] = [
      await probeSide(listBoth, probeRounds),
      await probeSide(relist, probeRounds),
    ];
    await expectIdle(pleg, relist);
    return {
      containers,
      pods,
      rounds: bare.wallMs.length,
      runsPerRound,
      bare: toSideFigures(bare, bareLoop),
      relist: toSideFigures(product, relistLoop),
      ...(await splitRelist(relist, runtime, probeRounds)),
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

/** Whether the intervals of the ratios are as narrow as they need be to judge by them. */
function areNarrow([bare, product]: readonly [SideSamples, SideSamples]): boolean {
  return [mean, median].every((statistic) => {
    const { low, high } = bootstrapRatio(product.wallMs, bare.wallMs, statistic, { resamples: 500 });
    return high - low < NARROW;
  });
}

/** A relist that inspects would measure something else. */
async function expectIdle(pleg: Pleg, relist: () => Promise<void>): Promise<void> {
  const before = pleg.state().inspections.inspections;
  await relist();
  const made = pleg.state().inspections.inspections - before;
  if (made > 0) throw new Error(`the node is not idle: ${made} pods were inspected`);
}

async function chooseRunsPerRound(run: () => Promise<unknown>): Promise<number> {
  const { wallMs } = await measureSide(run, WARM_UP_RUNS);
  return Math.max(1, Math.round(ROUND_MS / median(wallMs)));
}

/** The worst of every round. */
async function probeSide(run: () => Promise<unknown>, rounds: number): Promise<LoopUse> {
  const uses: LoopUse[] = [];
  for (let round = 0; round < rounds; round++) uses.push(await probeLoop(run));
  const worst = (of: keyof LoopUse): number => Math.max(...uses.map((use) => use[of]));
  return {
    longestTurnMs: worst('longestTurnMs'),
    longestDelayMs: worst('longestDelayMs'),
    longestGcMs: worst('longestGcMs'),
    longestTransportMs: worst('longestTransportMs'),
    longestOwnMs: worst('longestOwnMs'),
  };
}

/** Relists while listening to what the client and the generator publish; slower by what the listening costs. */
async function splitRelist(
  relist: () => Promise<void>,
  runtime: TimedRuntime,
  rounds: number,
): Promise<{ parts: RelistParts; answerBytes: number }> {
  const parts: RelistParts[] = [];
  let [callsEndedAt, answerBytes, diffMs] = [0, 0, 0];
  const stopListening = [
    criCallEnded.subscribe(({ responseBytes }) => {
      callsEndedAt = performance.now();
      answerBytes += responseBytes;
    }),
    relistEnded.subscribe((end) => (diffMs = end.diffMs)),
  ];
  for (let round = 0; round < rounds; round++) {
    answerBytes = 0;
    const before = performance.now();
    await relist();
    const endedAt = performance.now();
    const [callsMs, decodeMs] = [callsEndedAt - before, runtime.listedAt - callsEndedAt];
    parts.push({ callsMs, decodeMs, diffMs, restMs: endedAt - before - callsMs - decodeMs - diffMs });
  }
  for (const stop of stopListening) stop();
  const medianOf = (part: keyof RelistParts): number => median(parts.map((one) => one[part]));
  return {
    answerBytes,
    parts: {
      callsMs: medianOf('callsMs'),
      decodeMs: medianOf('decodeMs'),
      diffMs: medianOf('diffMs'),
      restMs: medianOf('restMs'),
    },
  };
}

function toSideFigures(samples: SideSamples, loop: LoopUse): SideFigures {
  return {
    meanMs: mean(samples.wallMs),
    p10Ms: quantile(samples.wallMs, 0.1),
    p50Ms: median(samples.wallMs),
    p99Ms: quantile(samples.wallMs, 0.99),
    cpuMs: mean(samples.cpuMs),
    loop,
    wallMs: samples.wallMs.map((ms) => Math.round(ms * 1000) / 1000),
  };
}

/** Remembers when the last list was handed out. */
class TimedRuntime implements Runtime {
  listedAt = 0;
  readonly #runtime: Runtime;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  async listPods(signal?: AbortSignal): ReturnType<Runtime['listPods']> {
    const pods = await this.#runtime.listPods(signal);
    this.listedAt = performance.now();
    return pods;
  }

  findPod(uid: string, signal?: AbortSignal): ReturnType<Runtime['findPod']> {
    return this.#runtime.findPod(uid, signal);
  }

  getPodStatus(...args: Parameters<Runtime['getPodStatus']>): ReturnType<Runtime['getPodStatus']> {
    return this.#runtime.getPodStatus(...args);
  }
}
