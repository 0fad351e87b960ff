import { type StreamPodSandboxMetricsRequest, type StreamPodSandboxMetricsResponse } from '#watch/messages';
import { listPodMetrics } from '../../stats/pod-metrics.js';
import { inPieces } from '../in-pieces.js';
import { selectPods } from './list-pod-sandbox-stats.js';
import { type RpcContext } from '../rpc-context.js';

/** Sixty metrics with their labels are some 20 kB for each container. */
const PODS_IN_PIECE = 20;

/** CRI StreamPodSandboxMetrics: the list in pieces, so that its size has no limit. */
export async function* streamPodSandboxMetrics(
  context: RpcContext,
  _request: StreamPodSandboxMetricsRequest,
): AsyncGenerator<StreamPodSandboxMetricsResponse> {
  for (const pods of inPieces(selectPods(context, undefined), PODS_IN_PIECE)) {
    yield { podSandboxMetrics: await listPodMetrics(context, pods) };
  }
}
