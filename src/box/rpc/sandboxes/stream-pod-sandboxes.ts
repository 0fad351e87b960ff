import { type StreamPodSandboxesRequest, type StreamPodSandboxesResponse } from '#watch/messages';
import { inPieces } from '../in-pieces.js';
import { selectSandboxes } from './list-pod-sandbox.js';
import { type RpcContext } from '../rpc-context.js';

/** CRI StreamPodSandboxes: the list in pieces, so that its size has no limit. */
export function* streamPodSandboxes(
  context: RpcContext,
  { filter }: StreamPodSandboxesRequest,
): Generator<StreamPodSandboxesResponse> {
  for (const podSandboxes of inPieces(selectSandboxes(context, filter))) yield { podSandboxes };
}
