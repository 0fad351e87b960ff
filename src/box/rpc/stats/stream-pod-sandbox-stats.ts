import { type StreamPodSandboxStatsRequest, type StreamPodSandboxStatsResponse } from '#watch/messages';
import { inPieces } from '../in-pieces.js';
import { selectPods } from './list-pod-sandbox-stats.js';
import { type RpcContext } from '../rpc-context.js';

/** CRI StreamPodSandboxStats: the list in pieces, so that its size has no limit. */
export async function* streamPodSandboxStats(
  context: RpcContext,
  { filter }: StreamPodSandboxStatsRequest,
): AsyncGenerator<StreamPodSandboxStatsResponse> {
  const stats = await context.stats.ofPods(selectPods(context, filter));
  for (const podSandboxStats of inPieces(stats)) yield { podSandboxStats };
}
