/**
 * podloop beside the Go kubelet while calls about some pods hang: the same containerd, manifests and machine, one after the
 * other in turns.
 *
 * In: a kubelet's binary. Out, for podloop in its default mode and for both of the kubelet's generators: what becomes of
 * everybody else's deaths and of the agent's health while calls about one pod and about three hang, and of the same deaths on
 * such a node while nothing hangs. Ends are the runtime's own records; events are the agents' own log lines.
 *
 * Each part is one contender with so many pods that hang, on a node of its own, and is kept as soon as it is done. A part
 * that fails is part of what was found, and the next one is tried.
 *
 * @module
 */
import { type Contender, PODLOOP } from './contenders.js';
import { type HungPodFigures, measureHungPods } from './hung-pods.js';
import { type PhaseFailure, PhaseRunner } from './phase-runner.js';
import { runStage, type StageOptions } from './run-stage.js';
import { type ContenderFigures } from './run-turns.js';

export interface HungOptions extends Omit<StageOptions, 'turns'> {
  /** How many of the others die on each node, one after the other. */
  readonly deaths: number;
  /** For how long ends are waited for while calls hang. */
  readonly hungWaitMs: number;
  /** At least so long they do. */
  readonly hangMs: number;
}

/** What was found of one contender in one turn: nothing where it failed. */
export interface HungFindings {
  readonly hung?: readonly HungPodFigures[];
  readonly failures: readonly PhaseFailure[];
}

/** How many pods hang, turn by turn; the first turn shows what is usual on such a node. */
export const HUNG_PODS = [0, 1, 3] as const;
/** On the node of each turn. */
export const HUNG = { pods: 20, everyMs: 5_000 };

/** Runs the benchmark. */
export async function runHungBenchmark(options: HungOptions): Promise<ContenderFigures<HungFindings>[]> {
  const stage = { name: 'kubelet-hung', stage: 'hung' };
  return await runStage(stage, { ...options, turns: HUNG_PODS.length }, (contender, turn) =>
    runTurn(contender, HUNG_PODS[turn]!, options),
  );
}

async function runTurn(
  contender: Contender,
  hungPods: number,
  { deaths, hungWaitMs: waitMs, hangMs, progress, signal }: HungOptions,
): Promise<HungFindings> {
  const phases = new PhaseRunner(progress, signal);
  // An agent may become unhealthy late, but not of nothing.
  const options = { ...HUNG, hungPods, deaths, waitMs, hangMs: hungPods === 0 ? 0 : hangMs, signal };
  const found = await phases.run(`hung ${hungPods}`, () => measureHungPods(contender, options));
  const hung = Object.values(found).filter((each) => each !== undefined);
  // podloop inspects whatever ended: nothing held is nothing tried. A kubelet with events on may ask for nothing.
  if (contender.name === PODLOOP && hungPods > 0 && hung[0]?.heldCalls === 0)
    await phases.run(`hung ${hungPods}: calls held`, () => Promise.reject(new Error('no call was held')));
  return { hung, failures: phases.failures };
}
