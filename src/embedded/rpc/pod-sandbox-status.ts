import {
  type PodSandboxStatusRequest,
  type PodSandboxStatusResponse,
} from '../../cri/generated/runtime/v1/cri.js';
import { toContainerStatus, toPodSandboxStatus } from '../messages.js';
import { requireId } from './require-id.js';
import { type RpcContext } from './rpc-context.js';
import { ISOLATION_NOTICE } from './status.js';

/** CRI PodSandboxStatus: the sandbox, and its containers as of the same moment, which `timestamp` names. */
export function podSandboxStatus(
  { pods, time }: RpcContext,
  { podSandboxId, verbose }: PodSandboxStatusRequest,
): PodSandboxStatusResponse {
  const sandbox = pods.getSandbox(requireId('sandbox', podSandboxId));
  const info = { isolation: ISOLATION_NOTICE, hostname: sandbox.config.hostname, name: sandbox.record.name };
  return {
    status: toPodSandboxStatus(sandbox),
    info: verbose ? { info: JSON.stringify(info) } : {},
    containersStatuses: pods.containersOf(sandbox.id).map(toContainerStatus),
    timestamp: time.now(),
  };
}
