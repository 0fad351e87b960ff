import { waitUntilHealthy } from '../agents/is-healthy.js';
import { AgentProcess } from './agent-process.js';
import { BenchNode, KUBELET_RELEASE } from './bench-node.js';
import { type Contender } from './contenders.js';
import { type PhaseFailure, type PhaseRunner } from './phase-runner.js';

const HEALTHY_WAIT_MS = 60_000;

/** A node with nothing on it and a healthy agent, for as long as `measure` takes. */
export async function onNode<Found extends object>(
  contender: Contender,
  phases: PhaseRunner,
  measure: (node: BenchNode, agent: AgentProcess) => Promise<Found>,
): Promise<Partial<Found> & { readonly failures: readonly PhaseFailure[] }> {
  let found: Partial<Found> = {};
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
