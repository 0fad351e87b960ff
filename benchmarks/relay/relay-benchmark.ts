/**
 * What the relay of frames costs beyond a bare byte pass-through.
 *
 * In: a synthetic runtime, and in front of it a bare pipe, the relay and chaos, each in a process of its own. Out, for
 * each kind of call: the time of the same calls through one and through the bare pipe, in alternating rounds, and the
 * CPU time that the process in between used for them.
 *
 * @module
 */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { ContainerStatusRequest, ListContainersResponse } from '#watch/messages';
import { GrpcTransport } from '../../src/watch/cri/grpc-transport.js';
import { spawnSyntheticRuntime } from '#testing/synthetic-runtime/index.js';
import { type Progress } from '../progress.js';
import { measureUntilNarrow } from '../relist/narrow-rounds.js';
import { measureSide, type SideSamples } from '../relist/paired-rounds.js';
import { makeRunFolder } from '../run-folder.js';
import { bootstrapRatio, type Estimate, mean, median, quantile } from '../stats.js';
import { DisposalStack } from '#base/async/disposal-stack.js';
import { RELAY_KINDS, type RelayKind, type RelayProcess, startRelayProcess } from './start-relay-process.js';

export interface RelayBenchmarkOptions {
  /** Timed rounds of each comparison, at least. */
  readonly minRounds: number;
  /** More rounds are taken until the intervals are narrow, or for so many milliseconds a comparison. */
  readonly budgetMs: number;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

/** One kind of call through one kind of process, held against the bare pipe. */
export interface RelayFigures {
  readonly kind: RelayKind;
  readonly load: string;
  readonly rounds: number;
  readonly runsPerRound: number;
  readonly barePipeP50Ms: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly barePipeP99Ms: number;
  readonly ratioOfMeans: Estimate;
  readonly ratioOfMedians: Estimate;
  /** Milliseconds of CPU of the process in between, for one run. */
  readonly barePipeCpuMs: number;
  readonly cpuMs: number;
  readonly wallMs: { readonly barePipe: readonly number[]; readonly relay: readonly number[] };
}

interface Load {
  readonly name: string;
  /** Containers on the node. */
  readonly containers: number;
  readonly run: (transport: GrpcTransport, containerIds: readonly string[]) => Promise<unknown>;
}

const SERVICE = '/runtime.v1.RuntimeService/';
const NOTHING = new Uint8Array(0);

const LOADS: readonly Load[] = [
  {
    name: 'Version, one at a time',
    containers: 100,
    run: (transport) => transport.unary(`${SERVICE}Version`, NOTHING).answer,
  },
  {
    name: 'ContainerStatus, 32 in flight',
    containers: 100,
    run: (transport, ids) =>
      Promise.all(
        ids.slice(0, 32).map((containerId) => {
          const request = ContainerStatusRequest.encode({ containerId, verbose: false }).finish();
          return transport.unary(`${SERVICE}ContainerStatus`, request).answer;
        }),
      ),
  },
  {
    name: 'ListContainers of 1,000',
    containers: 1_000,
    run: (transport) => transport.unary(`${SERVICE}ListContainers`, NOTHING).answer,
  },
  {
    name: 'ListContainers of 10,000',
    containers: 10_000,
    run: (transport) => transport.unary(`${SERVICE}ListContainers`, NOTHING).answer,
  },
];

const CONTAINERS_PER_POD = 2;
const WARM_UP_RUNS = 50;

/** Runs every kind of call through every kind of process. */
export async function runRelayBenchmark(options: RelayBenchmarkOptions): Promise<RelayFigures[]> {
  const figures: RelayFigures[] = [];
  for (const load of LOADS) figures.push(...(await measureLoad(load, options)));
  return figures;
}

async function measureLoad(load: Load, options: RelayBenchmarkOptions): Promise<RelayFigures[]> {
  const folder = await makeRunFolder('relay');
  await using stack = new DisposalStack();
  try {
    const pods = Math.ceil(load.containers / CONTAINERS_PER_POD);
    const synthetic = stack.use(await spawnSyntheticRuntime({ pods, containersPerPod: CONTAINERS_PER_POD }));
    const upstream = synthetic.endpoint.replace('unix://', '');
    const through = async (kind: RelayKind): Promise<Through> => {
      const socket = path.join(folder, `${kind.replaceAll(' ', '-')}.sock`);
      const relay = stack.use(await startRelayProcess(kind, upstream, socket, options.signal));
      const transport = new GrpcTransport({ socketPath: socket, maxReceiveMessageBytes: -1 });
      stack.defer(() => transport.close());
      return { relay, transport };
    };
    const barePipe = await through('pipe');
    const list = await barePipe.transport.unary(`${SERVICE}ListContainers`, NOTHING).answer;
    const ids = ListContainersResponse.decode(list).containers.map(({ id }) => id);
    const figures: RelayFigures[] = [];
    for (const kind of RELAY_KINDS) {
      if (kind === 'pipe') continue;
      options.progress.begin(`${kind}: ${load.name}`);
      figures.push(await compare(load, kind, ids, { barePipe, other: await through(kind) }, options));
    }
    return figures;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface Through {
  readonly relay: RelayProcess;
  readonly transport: GrpcTransport;
}

async function compare(
  load: Load,
  kind: RelayKind,
  ids: readonly string[],
  { barePipe, other }: { readonly barePipe: Through; readonly other: Through },
  options: RelayBenchmarkOptions,
): Promise<RelayFigures> {
  const sides = [() => load.run(barePipe.transport, ids), () => load.run(other.transport, ids)] as const;
  for (const run of sides) await measureSide(run, WARM_UP_RUNS);
  const cpuBefore = [await barePipe.relay.cpuMs(), await other.relay.cpuMs()] as const;
  const {
    runsPerRound,
    samples: [bare, relayed],
  } = await measureUntilNarrow(sides, options);
  const runs = bare.wallMs.length * runsPerRound;
  return {
    kind,
    load: load.name,
    rounds: bare.wallMs.length,
    runsPerRound,
    barePipeP50Ms: median(bare.wallMs),
    p50Ms: median(relayed.wallMs),
    barePipeP99Ms: quantile(bare.wallMs, 0.99),
    p99Ms: quantile(relayed.wallMs, 0.99),
    ratioOfMeans: bootstrapRatio(relayed.wallMs, bare.wallMs, mean),
    ratioOfMedians: bootstrapRatio(relayed.wallMs, bare.wallMs, median),
    barePipeCpuMs: ((await barePipe.relay.cpuMs()) - cpuBefore[0]) / runs,
    cpuMs: ((await other.relay.cpuMs()) - cpuBefore[1]) / runs,
    wallMs: { barePipe: rounded(bare), relay: rounded(relayed) },
  };
}

function rounded({ wallMs }: SideSamples): number[] {
  return wallMs.map((ms) => Math.round(ms * 1000) / 1000);
}
