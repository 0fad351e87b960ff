import { type ContainerStatsRequest, type ContainerStatsResponse } from '#watch/messages';
import { requireId } from '../require-id.js';
import { type RpcContext } from '../rpc-context.js';

/** CRI ContainerStats: what one container uses. */
export async function containerStats(
  { pods, stats }: RpcContext,
  { containerId }: ContainerStatsRequest,
): Promise<ContainerStatsResponse> {
  const container = pods.getContainer(requireId('container', containerId));
  const [answer] = await stats.ofContainers([container]);
  return { stats: answer };
}
