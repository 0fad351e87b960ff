import { type ListMetricDescriptorsRequest, type ListMetricDescriptorsResponse } from '#watch/messages';
import { describeMetrics } from '../../stats/pod-metrics.js';
import { type RpcContext } from '../rpc-context.js';

/** CRI ListMetricDescriptors: every metric that ListPodSandboxMetrics may give. */
export function listMetricDescriptors(
  { cgroups }: RpcContext,
  _request: ListMetricDescriptorsRequest,
): ListMetricDescriptorsResponse {
  return { descriptors: describeMetrics(cgroups.version) };
}
