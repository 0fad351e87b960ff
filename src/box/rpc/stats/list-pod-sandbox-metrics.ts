import { type ListPodSandboxMetricsRequest, type ListPodSandboxMetricsResponse } from '#watch/messages';
import { listPodMetrics } from '../../stats/pod-metrics.js';
import { selectPods } from './list-pod-sandbox-stats.js';
import { type RpcContext } from '../rpc-context.js';

/** CRI ListPodSandboxMetrics: of every pod. */
export async function listPodSandboxMetrics(
  context: RpcContext,
  _request: ListPodSandboxMetricsRequest,
): Promise<ListPodSandboxMetricsResponse> {
  return { podMetrics: await listPodMetrics(context, selectPods(context, undefined)) };
}
