import { type PodSandboxStatusRequest, type PodSandboxStatusResponse } from '#watch/messages';
import { toContainerStatus, toPodSandboxStatus } from '../../messages.js';
import { requireId } from '../require-id.js';
import { type RpcContext } from '../rpc-context.js';

/** CRI PodSandboxStatus: the sandbox, and its containers as of the same moment, which `timestamp` names. */
export function podSandboxStatus(
  { pods, parts, isolation, time }: RpcContext,
  { podSandboxId, verbose }: PodSandboxStatusRequest,
): PodSandboxStatusResponse {
  const sandbox = pods.getSandbox(requireId('sandbox', podSandboxId));
  const info = {
    pid: sandbox.holderPid ?? 0,
    isolation: isolation.notice,
    hostname: sandbox.config.hostname,
    name: sandbox.record.name,
  };
  return {
    status: toPodSandboxStatus(sandbox, parts.ipsOf(sandbox.id)),
    info: verbose ? { info: JSON.stringify(info) } : {},
    containersStatuses: pods.containersOf(sandbox.id).map(toContainerStatus),
    timestamp: time.now(),
  };
}
