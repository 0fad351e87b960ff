/**
 * podloop beside the Go kubelet, many pods at once: the same containerd, manifests and machine, one after the other in turns.
 *
 * In: a kubelet's binary. Out, for podloop in its default mode and for both of the kubelet's generators: what a burst takes,
 * what idling costs, how soon many ends at once are events and replacements, and what becomes of an agent that comes back
 * to a full node. Times of containers are the runtime's own records; those of events are the agents' own log lines.
 *
 * Each part is one contender in one turn, on a node of its own, and is kept as soon as it is done. A phase that
 * fails is part of what was found, and the next one is tried.
 *
 * @module
 */
import { createRandom } from '../stats.js';
import { AgentProcess } from './agent-process.js';
import { type Contender } from './contenders.js';
import { countRepeated, type DeathFigures } from './follow-deaths.js';
import {
  type IdleFigures,
  type MassStartFigures,
  measureAfterRestart,
  measureIdle,
  measureMassKill,
  measureMassStart,
  type RestartFigures,
} from './mass-phases.js';
import { onNode } from './on-node.js';
import { type PhaseFailure, PhaseRunner } from './phase-runner.js';
import { runStage, type StageOptions } from './run-stage.js';
import { type ContenderFigures } from './run-turns.js';
import { waitForRelist } from './wait-for-relist.js';

export interface MassOptions extends StageOptions {
  /** Pods that are there before. */
  readonly base: number;
  /** Pods that are put down at once then. */
  readonly mass: number;
  /** About so many containers have ended by the time of the restart. */
  readonly exited: number;
  /** Before the idling that is measured: podloop's period is at its longest after 70 quiet seconds. */
  readonly settleMs: number;
  readonly idleMs: number;
}

/** What was found of one contender in one turn: what it is without failed. */
export interface MassFindings {
  readonly massStart?: MassStartFigures;
  readonly idle?: IdleFigures;
  readonly massKill?: DeathFigures;
  readonly restart?: RestartFigures;
  readonly failures: readonly PhaseFailure[];
}

const KILLS_AFTER_RESTART = 10;
/** More of them would cost pods that run, and time. */
const INITS_PER_POD = 20;

/** Runs the benchmark. */
export async function runMassBenchmark(options: MassOptions): Promise<ContenderFigures<MassFindings>[]> {
  return await runStage({ name: 'kubelet-mass', stage: 'mass' }, options, (contender, turn) =>
    runTurn(contender, turn, options),
  );
}

async function runTurn(
  contender: Contender,
  turn: number,
  { base, mass, exited, settleMs, idleMs, progress, signal }: MassOptions,
): Promise<MassFindings> {
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
