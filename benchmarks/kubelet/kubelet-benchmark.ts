/**
 * podloop beside the Go kubelet: the same containerd, manifests and machine, one after the other in turns.
 *
 * In: a kubelet's binary. Out, for podloop in its default mode and for both of the kubelet's generators: how soon a
 * manifest is a container, an end an event and a replacement, what a burst takes, what idling costs, what becomes of
 * an agent that comes back to a full node, and of everybody else's deaths while calls about one pod hang. Times of
 * containers are the runtime's own records; those of events are the agents' own log lines.
 *
 * Each part is a stage of one contender in one turn, on a node of its own, and is kept as soon as it is done. A phase that
 * fails is part of what was found, and the next one is tried.
 *
 * @module
 */
import { waitUntilHealthy } from '../agents/is-healthy.js';
import { type FoundParts } from '../parts-file.js';
import { type Progress } from '../progress.js';
import { createRandom } from '../stats.js';
import { AgentProcess } from './agent-process.js';
import { BenchNode, KUBELET_RELEASE } from './bench-node.js';
import { type Contender, createContenders, PODLOOP } from './contenders.js';
import { countRepeated, type DeathFigures } from './follow-deaths.js';
import { type HungPodFigures, measureHungPods } from './hung-pods.js';
import {
  type IdleFigures,
  type MassStartFigures,
  measureAfterRestart,
  measureIdle,
  measureMassKill,
  measureMassStart,
  type RestartFigures,
} from './mass-phases.js';
import { PhaseRunner, type PhaseFailure } from './phase-runner.js';
import { runTurns } from './run-turns.js';
import { measureDeaths, measurePodStarts } from './single-phases.js';
import { waitForRelist } from './wait-for-relist.js';

export interface KubeletBenchmarkOptions {
  readonly kubelet: string;
  /** In how many turns pods are started and killed one at a time. */
  readonly turns: number;
  /** How many of them, in each turn. */
  readonly singles: number;
  /** In how many turns many are started and killed at once. */
  readonly massTurns: number;
  /** Pods that are there before. */
  readonly base: number;
  /** Pods that are put down at once then. */
  readonly mass: number;
  /** About so many containers have ended by the time of the restart. */
  readonly exited: number;
  /** Before the idling that is measured: podloop's period is at its longest after 70 quiet seconds. */
  readonly settleMs: number;
  readonly idleMs: number;
  /** For how long ends are waited for while calls hang. */
  readonly hungWaitMs: number;
  /** At least so long they do. */
  readonly hangMs: number;
  /** Those that are run. */
  readonly stages: readonly StageName[];
  readonly parts: FoundParts;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

/** What was found of one contender in one stage of one turn: what it is without was not part of it, or failed. */
export interface Findings {
  readonly podStartsMs?: readonly number[];
  readonly deaths?: DeathFigures;
  readonly massStart?: MassStartFigures;
  readonly idle?: IdleFigures;
  readonly massKill?: DeathFigures;
  readonly restart?: RestartFigures;
  readonly hung?: readonly HungPodFigures[];
  readonly failures: readonly PhaseFailure[];
}

/** What was found of one contender, turn by turn. */
export interface ContenderFigures {
  readonly name: string;
  readonly rounds: readonly Findings[];
}

/** In the order in which they are run. */
export const STAGE_NAMES = ['singles', 'mass', 'hung'] as const;
export type StageName = (typeof STAGE_NAMES)[number];

const KILLS_AFTER_RESTART = 10;
/** More of them would cost pods that run, and time. */
const INITS_PER_POD = 20;
const HEALTHY_WAIT_MS = 60_000;
const HUNG = { pods: 20, deaths: 12, everyMs: 5_000 };

type Stage = (contender: Contender, turn: number, options: KubeletBenchmarkOptions) => Promise<Findings>;

const STAGES: Readonly<Record<StageName, Stage>> = { singles: runSingles, mass: runMass, hung: runHung };

/** Runs the benchmark; who begins changes from turn to turn. */
export async function runKubeletBenchmark(options: KubeletBenchmarkOptions): Promise<ContenderFigures[]> {
  const { kubelet, turns, massTurns, stages, parts, progress, signal } = options;
  const contenders = createContenders(kubelet);
  const turnsOf = { singles: turns, mass: massTurns, hung: 1 };
  const plan = STAGE_NAMES.filter((stage) => stages.includes(stage)).flatMap((stage) =>
    Array.from({ length: turnsOf[stage] }, (_, turn) => ({ stage, turn })),
  );
  return await runTurns<(typeof plan)[number], Findings>({
    ...{ name: 'kubelet', plan, contenders, parts, progress, signal },
    run: async (contender, { stage, turn }) => STAGES[stage](contender, turn, options),
  });
}

async function runSingles(
  contender: Contender,
  turn: number,
  { singles, progress, signal }: KubeletBenchmarkOptions,
): Promise<Findings> {
  const phases = new PhaseRunner(progress, signal);
  return await onNode(contender, phases, async (node, agent) => {
    // The same moments for all contenders of a turn.
    const context = { node, agent, random: createRandom(turn + 1), signal };
    return {
      ...(await phases.run('podStartsMs', () => measurePodStarts(context, singles))),
      ...(await phases.run('deaths', () => measureDeaths(context))),
    };
  });
}

async function runMass(
  contender: Contender,
  turn: number,
  { base, mass, exited, settleMs, idleMs, progress, signal }: KubeletBenchmarkOptions,
): Promise<Findings> {
  const phases = new PhaseRunner(progress, signal);
  return await onNode(contender, phases, async (node, agent) => {
    const context = { node, agent, random: createRandom(turn + 1), signal };
    await phases.run('base', () => measureMassStart(context, { name: 'base', pods: base }));
    const found = {
      ...(await phases.run('massStart', () => measureMassStart(context, { name: 'mass', pods: mass }))),
      ...(await phases.run('idle', () => measureIdle(context, { settleMs, forMs: idleMs }))),
    };
    const { massKill: followed } = await phases.run('massKill', () => measureMassKill(context));
    // Those that were killed have left one each.
    const inits = Math.max(1, exited - base - mass);
    const pods = Math.max(KILLS_AFTER_RESTART, Math.ceil(inits / INITS_PER_POD));
    const fresh = { name: 'fresh', pods, inits: Math.ceil(inits / pods) };
    await phases.run('fresh', () => measureMassStart(context, fresh));
    await phases.run('relist', () => waitForRelist(agent, signal));
    // The last moment at which this agent may have told of an end once more.
    const massKill = followed && { massKill: countRepeated(followed, agent.events) };
    const restart = async (): Promise<RestartFigures> => {
      await agent.kill();
      const { endpoint } = node.containerd;
      const command = await contender.prepare({ endpoint, folder: node.folder });
      const start = (): Promise<AgentProcess> => AgentProcess.start(command);
      const after = { start, kills: KILLS_AFTER_RESTART, ofPods: 'fresh-' };
      return await measureAfterRestart({ node, signal }, after);
    };
    // A phase like the others: what was found before stays though it fails.
    return { ...found, ...massKill, ...(await phases.run('restart', restart)) };
  });
}

async function runHung(
  contender: Contender,
  _: number,
  { hungWaitMs: waitMs, hangMs, progress, signal }: KubeletBenchmarkOptions,
): Promise<Findings> {
  const phases = new PhaseRunner(progress, signal);
  const hung: HungPodFigures[] = [];
  for (const hungPods of [1, 3]) {
    const options = { ...HUNG, hungPods, waitMs, hangMs, signal };
    const found = await phases.run(`hung ${hungPods}`, () => measureHungPods(contender, options));
    hung.push(...Object.values(found).filter((each) => each !== undefined));
    // podloop inspects whatever ended: nothing held is nothing tried. A kubelet with events on may ask for nothing.
    if (contender.name === PODLOOP && hung.at(-1)?.heldCalls === 0)
      await phases.run(`hung ${hungPods}: calls held`, () => Promise.reject(new Error('no call was held')));
  }
  return { hung, failures: phases.failures };
}

/** A node with nothing on it and a healthy agent, for as long as `measure` takes. */
async function onNode(
  contender: Contender,
  phases: PhaseRunner,
  measure: (node: BenchNode, agent: AgentProcess) => Promise<Omit<Findings, 'failures'>>,
): Promise<Findings> {
  let found: Omit<Findings, 'failures'> = {};
  await phases.run('node', async () => {
    await using node = await BenchNode.start(KUBELET_RELEASE);
    const { endpoint } = node.containerd;
    await using agent = await AgentProcess.start(await contender.prepare({ endpoint, folder: node.folder }));
    const limit = AbortSignal.any([phases.signal, AbortSignal.timeout(HEALTHY_WAIT_MS)]);
    await waitUntilHealthy(agent.health, limit);
    // Whatever becomes of the node after that.
    found = await measure(node, agent);
  });
  return { ...found, failures: phases.failures };
}
