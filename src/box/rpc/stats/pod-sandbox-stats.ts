import { type PodSandboxStatsRequest, type PodSandboxStatsResponse } from '#watch/messages';
import { requireId } from '../require-id.js';
import { type RpcContext } from '../rpc-context.js';

/** CRI PodSandboxStats: what one pod uses, its network, and its containers. */
export async function podSandboxStats(
  { pods, stats }: RpcContext,
  { podSandboxId }: PodSandboxStatsRequest,
): Promise<PodSandboxStatsResponse> {
  const sandbox = pods.getSandbox(requireId('sandbox', podSandboxId));
  const [answer] = await stats.ofPods([{ sandbox, containers: pods.containersOf(sandbox.id) }]);
  return { stats: answer };
}
