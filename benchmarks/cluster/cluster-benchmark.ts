/**
 * podloop beside the Go kubelet as the one node of a real control plane: the same API server, release of containerd,
 * pods and machine, one after the other in turns.
 *
 * In: a kubelet's binary and those of a control plane. Out, for podloop in its default mode and for both of the kubelet's
 * generators: how long it takes from the creation of a pod until the API server tells that it is Ready, the same for
 * all pods of a Deployment, its deletion until the last pod is gone, and what the agent used meanwhile. Whoever waits does
 * so with a watch of the API server's, as users do; the control plane's own part is in each of the times.
 *
 * Each part is one contender in one turn, on a node of its own, and is kept as soon as it is done. A part that fails is part
 * of what was found.
 *
 * @module
 */
import { type FoundParts } from '../scenario.js';
import { findClusterBinaries } from '../../test/cluster/harness/cluster-binaries.js';
import { ControlPlane } from '../../test/cluster/harness/control-plane.js';
import { type Contender, createContenders } from '../kubelet/contenders.js';
import { type PhaseFailure, PhaseRunner } from '../kubelet/phase-runner.js';
import { runTurns } from '../kubelet/run-turns.js';
import { type Progress } from '../progress.js';
import { createRandom } from '../stats.js';
import { type DeploymentFigures, measureDeployment } from './deployment.js';
import { type JoinedNode, onJoinedNode } from './joined-node.js';
import { measureSinglePods, type SinglePodFigures } from './single-pods.js';

export interface ClusterBenchmarkOptions {
  readonly kubelet: string;
  /** In how many turns pods come and go one at a time. */
  readonly turns: number;
  /** How many of them, in each turn. */
  readonly singles: number;
  /** In how many turns a Deployment comes and goes. */
  readonly deploymentTurns: number;
  readonly replicas: number;
  readonly parts: FoundParts;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

/** What was found of one contender in one turn: what it is without was not part of it, or failed. */
export interface ClusterFindings {
  readonly singles?: readonly SinglePodFigures[];
  readonly deployment?: DeploymentFigures;
  readonly failures: readonly PhaseFailure[];
}

/** What was found of one contender, turn by turn. */
export interface ClusterContenderFigures {
  readonly name: string;
  readonly rounds: readonly ClusterFindings[];
}

type Measure = (joined: JoinedNode, turn: number) => Promise<Omit<ClusterFindings, 'failures'>>;

/** Runs the benchmark; who begins changes from turn to turn. */
export async function runClusterBenchmark(
  options: ClusterBenchmarkOptions,
): Promise<ClusterContenderFigures[]> {
  const { kubelet, turns, singles, deploymentTurns, replicas, parts, progress, signal } = options;
  const stages: readonly { name: string; turns: number; measure: Measure }[] = [
    {
      ...{ name: 'single pods', turns },
      measure: async (joined, turn) => {
        // The same moments for all contenders of a turn.
        const random = createRandom(turn + 1);
        return { singles: await measureSinglePods(joined, { count: singles, random, signal }) };
      },
    },
    {
      ...{ name: 'deployment', turns: deploymentTurns },
      measure: async (joined) => ({ deployment: await measureDeployment(joined, { replicas, signal }) }),
    },
  ];
  const contenders = createContenders(kubelet);
  const plan = stages.flatMap(({ name, turns: count, measure }) =>
    Array.from({ length: count }, (_, turn) => ({ stage: name, turn, measure })),
  );
  await using plane = new LazyControlPlane();
  return await runTurns<(typeof plan)[number], ClusterFindings>({
    ...{ name: 'cluster', plan, contenders, parts, progress, signal },
    run: async (contender, { turn, measure }) =>
      runPart(await plane.get(), contender, new PhaseRunner(progress, signal), async (joined) =>
        measure(joined, turn),
      ),
  });
}

async function runPart(
  plane: ControlPlane,
  contender: Contender,
  phases: PhaseRunner,
  measure: (joined: JoinedNode) => ReturnType<Measure>,
): Promise<ClusterFindings> {
  let found: Omit<ClusterFindings, 'failures'> = {};
  await phases.run('node', () =>
    onJoinedNode(plane, contender, phases.signal, async (joined) => {
      // Whatever becomes of the node after that.
      found = await measure(joined);
    }),
  );
  return { ...found, failures: phases.failures };
}

/** Started when the first part needs it: all of them may have been found already. */
class LazyControlPlane implements AsyncDisposable {
  #plane: ControlPlane | undefined;

  async get(): Promise<ControlPlane> {
    if (this.#plane === undefined) {
      const binaries = findClusterBinaries();
      if ('missing' in binaries) throw new Error(binaries.missing);
      this.#plane = await ControlPlane.start(binaries);
    }
    return this.#plane;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#plane?.[Symbol.asyncDispose]();
  }
}
