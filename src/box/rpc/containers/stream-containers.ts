import { type StreamContainersRequest, type StreamContainersResponse } from '#watch/messages';
import { inPieces } from '../in-pieces.js';
import { selectContainers } from './list-containers.js';
import { type RpcContext } from '../rpc-context.js';

/** CRI StreamContainers: the list in pieces, so that its size has no limit. */
export function* streamContainers(
  context: RpcContext,
  { filter }: StreamContainersRequest,
): Generator<StreamContainersResponse> {
  for (const containers of inPieces(selectContainers(context, filter))) yield { containers };
}
