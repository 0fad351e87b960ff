/**
 * The operations that a relist is made of, each by itself: how many a second, and what they allocate.
 *
 * In: the answers of a synthetic runtime, kept as bytes. Out: operations a second, the reading of a list held
 * against a scan written by hand for the same purpose, bytes allocated for each container by an idle relist, and
 * where its CPU time goes.
 *
 * @module
 */
import { CriClient, CriRuntime, Pleg } from '#watch';
import { GrpcTransport } from '../../src/watch/cri/grpc-transport.js';
import { spawnSyntheticRuntime } from '#testing/synthetic-runtime/index.js';
import { measurePairedRounds } from '../relist/paired-rounds.js';
import { BareComparison } from '../lists/bare-lists.js';
import { type Progress } from '../progress.js';
import { bootstrapRatio, type Estimate, mean, median } from '../stats.js';
import { profileCpu, type ProfiledFunction } from './cpu-profile.js';
import { measureAllocation } from './heap-sampling.js';
import { createListReaders } from './list-readers.js';
import { createOperations, type Operation } from './operations.js';

export interface MicroBenchmarkOptions {
  readonly containers: number;
  readonly rounds: number;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

/** How often something can be done. */
export interface MeasuredOperation {
  readonly name: string;
  /** The median over rounds. */
  readonly perSecond: number;
  /** Of every round, in their order. */
  readonly everyPerSecond: readonly number[];
}

/** What was found. */
export interface MicroFigures {
  readonly containers: number;
  readonly operations: readonly MeasuredOperation[];
  /** Reading id and state of every container, against the scan written by hand for the same purpose. */
  readonly decodeRatio: Estimate;
  /** The same against the decoder written by hand that makes a table of what it reads. */
  readonly tableRatio: Estimate;
  /** Medians. */
  readonly decodeMs: number;
  readonly handWrittenMs: number;
  readonly tableMs: number;
  /** Of every round, in their order, milliseconds for one answer. */
  readonly decodeRounds: {
    readonly product: readonly number[];
    readonly handWritten: readonly number[];
    readonly table: readonly number[];
  };
  /** Bytes of V8's heap for each container on the node. */
  readonly allocated: { readonly relist: number; readonly bareLists: number };
  /** Of idle relists, list calls included: the functions with the largest shares. */
  readonly profile: readonly ProfiledFunction[];
  /** The same by whose work it is. */
  readonly profileParts: readonly ProfiledFunction[];
}

/** A number of containers is a multiple of it. */
export const CONTAINERS_PER_POD = 2;
const WARM_UP_RUNS = 30;
/** The table of the side before is garbage of megabytes: a collection of it is neither of the others'. */
const LEAD_IN_RUNS = 5;
/** Relists under the profiler. */
const PROFILED_RUNS = 100;
/** Each operation is repeated for so long in a round. */
const ROUND_MS = 50;
/** The clock is looked at once in so many operations. */
const OPERATIONS_AT_ONCE = 100;
const PROFILE_LINES = 15;
const LIST_CONTAINERS = '/runtime.v1.RuntimeService/ListContainers';

/** Runs the benchmark. */
export async function runMicroBenchmark(options: MicroBenchmarkOptions): Promise<MicroFigures> {
  const { containers, rounds, progress, signal } = options;
  progress.begin(`micro: ${containers} containers`);
  const pods = containers / CONTAINERS_PER_POD;
  await using synthetic = await spawnSyntheticRuntime({ pods, containersPerPod: CONTAINERS_PER_POD });
  const transport = new GrpcTransport({ socketPath: synthetic.endpoint.replace('unix://', '') });
  const client = new CriClient({ endpoint: synthetic.endpoint });
  try {
    const answer = await transport.unary(LIST_CONTAINERS, new Uint8Array(0)).answer;
    const readers = await createListReaders(answer);
    for (let run = 0; run < WARM_UP_RUNS; run++) {
      await readers.handWritten();
      await readers.product();
      await readers.table();
    }
    const sides = [readers.handWritten, readers.product, readers.table] as const;
    const [handWritten, product, table] = await measurePairedRounds(sides, {
      ...{ minRounds: rounds, runsPerRound: 20, leadInRuns: LEAD_IN_RUNS, isEnough: () => true, signal },
      onRound: (done) => progress.step(done, rounds, 'rounds of decoding'),
    });
    signal.throwIfAborted();
    const operations = await createOperations(client);
    const measured: MeasuredOperation[] = [];
    for (const operation of operations) {
      signal.throwIfAborted();
      measured.push(measureOperation(operation, rounds));
      progress.step(measured.length, operations.length, 'operations');
    }
    const pleg = new Pleg({ runtime: new CriRuntime({ client }), mode: 'generic' });
    const relists = async (runs: number): Promise<void> => {
      for (let run = 0; run < runs; run++) await pleg.relist(signal);
    };
    await relists(WARM_UP_RUNS);
    // Before anything is sampled: a collector that keeps account of samples has more to do.
    const profile = await profileCpu(() => relists(PROFILED_RUNS));
    const relist = await measureAllocation(() => relists(WARM_UP_RUNS));
    const bare = await BareComparison.start((path, request) => transport.unary(path, request).answer);
    const bareLists = await measureAllocation(async () => {
      for (let run = 0; run < WARM_UP_RUNS; run++) await bare.run();
    });
    return {
      containers,
      operations: measured,
      decodeRatio: bootstrapRatio(product.wallMs, handWritten.wallMs, mean),
      decodeMs: median(product.wallMs),
      handWrittenMs: median(handWritten.wallMs),
      tableRatio: bootstrapRatio(product.wallMs, table.wallMs, mean),
      tableMs: median(table.wallMs),
      decodeRounds: { product: product.wallMs, handWritten: handWritten.wallMs, table: table.wallMs },
      allocated: {
        relist: relist / WARM_UP_RUNS / containers,
        bareLists: bareLists / WARM_UP_RUNS / containers,
      },
      profile: profile.functions.slice(0, PROFILE_LINES),
      profileParts: profile.parts,
    };
  } finally {
    client.close();
    transport.close();
  }
}

/** What the operations gave: kept where everybody could see it, so that none of them is left out by the compiler. @public */
export const sink: { last: unknown } = { last: undefined };

function measureOperation({ name, run }: Operation, rounds: number): MeasuredOperation {
  const rates: number[] = [];
  // The first round is for the compiler.
  for (let round = 0; round <= rounds; round++) {
    const beganMs = performance.now();
    let [done, tookMs] = [0, 0];
    while (tookMs < ROUND_MS) {
      for (let i = 0; i < OPERATIONS_AT_ONCE; i++) sink.last = run(done + i);
      done += OPERATIONS_AT_ONCE;
      tookMs = performance.now() - beganMs;
    }
    if (round > 0) rates.push((done / tookMs) * 1_000);
  }
  return { name, perSecond: median(rates), everyPerSecond: rates };
}
