import { type StreamContainerStatsRequest, type StreamContainerStatsResponse } from '#watch/messages';
import { inPieces } from '../in-pieces.js';
import { collectContainerStats } from './list-container-stats.js';
import { type RpcContext } from '../rpc-context.js';

/** CRI StreamContainerStats: the list in pieces, so that its size has no limit. */
export async function* streamContainerStats(
  context: RpcContext,
  { filter }: StreamContainerStatsRequest,
): AsyncGenerator<StreamContainerStatsResponse> {
  const stats = await collectContainerStats(context, filter);
  for (const containerStats of inPieces(stats)) yield { containerStats };
}
