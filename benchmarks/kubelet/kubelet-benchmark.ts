/**
 * podloop beside the Go kubelet: the same containerd, manifests and machine, one after the other in turns.
 *
 * In: a kubelet's binary. Out, for podloop in its default mode and for both of the kubelet's generators: how soon a
 * manifest is a container, an end an event and a replacement, what a burst takes, what idling costs, what becomes of
 * an agent that comes back to a full node, and of everybody else's deaths while calls about one pod hang. Times of
 * containers are the runtime's own records; those of events are the agents' own log lines.
 *
 * @module
 */
import { waitUntilHealthy } from '../agents/is-healthy.js';
import { type Progress } from '../progress.js';
import { createRandom } from '../stats.js';
import { AgentProcess } from './agent-process.js';
import { BenchNode } from './bench-node.js';
import { type Contender, createContenders } from './contenders.js';
import { type HungPodFigures, measureHungPods } from './hung-pods.js';
import {
  type DeathFigures,
  measureAfterRestart,
  measureDeaths,
  measureIdle,
  measureMassKill,
  measureMassStart,
  measurePodStarts,
} from './phases.js';

export interface KubeletBenchmarkOptions {
  readonly kubelet: string;
  readonly rounds: number;
  /** Pods that are started and killed one at a time, in each round. */
  readonly singles: number;
  /** Pods that are put down at once. */
  readonly mass: number;
  /** Containers that have ended by the time of the restart: three for each pod that is put down for it. */
  readonly exited: number;
  readonly idleMs: number;
  /** For how long ends are waited for while calls hang. */
  readonly hungWaitMs: number;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

/** What was found of one contender in one round. */
export interface ContenderRound {
  readonly podStartsMs: readonly number[];
  readonly deaths: DeathFigures;
  readonly massStart: { readonly allRunningMs: number; readonly cpuMs: number };
  readonly idle: { readonly cpuPercent: number; readonly rssMiB: number };
  readonly massKill: DeathFigures;
  readonly restart: Awaited<ReturnType<typeof measureAfterRestart>>;
  readonly hung: readonly HungPodFigures[];
}

/** What was found of one contender, in the order of the rounds. */
export interface ContenderFigures {
  readonly name: string;
  readonly rounds: readonly ContenderRound[];
}

/** The release that the kubelet's figures are known of. */
const RELEASE = '1.7';
const INITS = 3;
const KILLS_AFTER_RESTART = 10;
const DEATH_WAIT_MS = 30_000;
const MASS_WAIT_MS = 180_000;
const RESTART_WAIT_MS = 60_000;
const HUNG = { pods: 20, deaths: 12, everyMs: 5_000 };

/** Runs the benchmark; who begins changes from round to round. */
export async function runKubeletBenchmark(options: KubeletBenchmarkOptions): Promise<ContenderFigures[]> {
  const { kubelet, rounds, progress, signal } = options;
  const contenders = createContenders(kubelet);
  const found = new Map<string, ContenderRound[]>(contenders.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < contenders.length; turn++) {
      signal.throwIfAborted();
      const contender = contenders[(round + turn) % contenders.length]!;
      progress.begin(`kubelet: round ${round + 1} of ${rounds}, ${contender.name}`);
      found.get(contender.name)!.push(await measureContender(contender, round, options));
    }
  }
  return [...found].map(([name, own]) => ({ name, rounds: own }));
}

async function measureContender(
  contender: Contender,
  round: number,
  options: KubeletBenchmarkOptions,
): Promise<ContenderRound> {
  const life = await measureLife(contender, round, options);
  const hung: HungPodFigures[] = [];
  for (const hungPods of [1, 3]) {
    hung.push(
      await measureHungPods(contender, {
        ...{ ...HUNG, hungPods, waitMs: options.hungWaitMs, signal: options.signal },
      }),
    );
    options.progress.step(hung.length, 2, 'nodes with hung pods');
  }
  return { ...life, hung };
}

async function measureLife(
  contender: Contender,
  round: number,
  { singles, mass, exited, idleMs, progress, signal }: KubeletBenchmarkOptions,
): Promise<Omit<ContenderRound, 'hung'>> {
  await using node = await BenchNode.start(RELEASE);
  const place = { endpoint: node.containerd.endpoint, folder: node.folder };
  // The same moments for all contenders of a round.
  const random = createRandom(round + 1);
  let done = 0;
  const step = <Result>(result: Result): Result => {
    progress.step(++done, 6, 'phases');
    return result;
  };
  const first = await AgentProcess.start(await contender.prepare(place));
  let before: Omit<ContenderRound, 'hung' | 'restart'>;
  try {
    await waitUntilHealthy(first.health, signal);
    const context = { node, agent: first, random, signal };
    before = {
      podStartsMs: step(await measurePodStarts(context, singles)),
      deaths: step(await measureDeaths(context, DEATH_WAIT_MS)),
      massStart: step(await measureMassStart(context, mass)),
      idle: step(await measureIdle(context, { settleMs: idleMs, forMs: idleMs })),
      massKill: step(await measureMassKill(context, MASS_WAIT_MS)),
    };
    const there = await node.running();
    const fresh = Math.max(KILLS_AFTER_RESTART, Math.ceil(exited / INITS));
    for (let at = 0; at < fresh; at++) await node.writeManifest(`fresh-${at}`, { inits: INITS });
    await node.untilRunning(there.length + fresh, signal, undefined, () => first.check());
  } finally {
    await first.kill();
  }
  await using second = await AgentProcess.start(await contender.prepare(place));
  const context = { node, agent: second, random, signal };
  const restart = step(
    await measureAfterRestart(context, { kills: KILLS_AFTER_RESTART, waitMs: RESTART_WAIT_MS }),
  );
  return { ...before, restart };
}
