/**
 * podloop beside the Go kubelet, one pod at a time: the same containerd, manifests and machine, one after the other in turns.
 *
 * In: a kubelet's binary. Out, for podloop in its default mode and for both of the kubelet's generators: how soon a
 * manifest is a container, and an end an event and a replacement. Times of containers are the runtime's own records; those
 * of events are the agents' own log lines.
 *
 * Each part is one contender in one turn, on a node of its own, and is kept as soon as it is done. A phase that
 * fails is part of what was found, and the next one is tried.
 *
 * @module
 */
import { createRandom } from '../stats.js';
import { type Contender } from './contenders.js';
import { type DeathFigures } from './follow-deaths.js';
import { onNode } from './on-node.js';
import { type PhaseFailure, PhaseRunner } from './phase-runner.js';
import { runStage, type StageOptions } from './run-stage.js';
import { type ContenderFigures } from './run-turns.js';
import { measureDeaths, measurePodStarts } from './single-phases.js';

export interface SinglesOptions extends StageOptions {
  /** Pods that are started and killed one at a time, in each turn. */
  readonly singles: number;
}

/** What was found of one contender in one turn: what it is without failed. */
export interface SinglesFindings {
  readonly podStartsMs?: readonly number[];
  readonly deaths?: DeathFigures;
  readonly failures: readonly PhaseFailure[];
}

/** Runs the benchmark. */
export async function runSinglesBenchmark(
  options: SinglesOptions,
): Promise<ContenderFigures<SinglesFindings>[]> {
  return await runStage({ name: 'kubelet', stage: 'singles' }, options, (contender, turn) =>
    runTurn(contender, turn, options),
  );
}

async function runTurn(
  contender: Contender,
  turn: number,
  { singles, progress, signal }: SinglesOptions,
): Promise<SinglesFindings> {
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
