import {
  type ListMetricDescriptorsRequest,
  type ListMetricDescriptorsResponse,
} from '../../../watch/cri/generated/runtime/v1/cri.js';
import { describeMetrics } from '../../stats/pod-metrics.js';
import { type RpcContext } from '../rpc-context.js';

/** CRI ListMetricDescriptors: every metric that ListPodSandboxMetrics may give. */
export function listMetricDescriptors(
  { cgroups }: RpcContext,
  _request: ListMetricDescriptorsRequest,
): ListMetricDescriptorsResponse {
  return { descriptors: describeMetrics(cgroups.version) };
}
