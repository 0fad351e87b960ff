import {
  PodSandboxState,
  type StopPodSandboxRequest,
  type StopPodSandboxResponse,
} from '../../cri/generated/runtime/v1/cri.js';
import { type Sandbox } from '../sandbox.js';
import { requireId } from './require-id.js';
import { type RpcContext } from './rpc-context.js';

/** CRI StopPodSandbox: kills its containers, then the sandbox is not ready. Again and unknown: no error. */
export async function stopPodSandbox(
  context: RpcContext,
  { podSandboxId }: StopPodSandboxRequest,
): Promise<StopPodSandboxResponse> {
  const sandbox = context.pods.findSandbox(requireId('sandbox', podSandboxId));
  if (sandbox !== undefined) await sandbox.lifecycle.run(() => stopSandbox(context, sandbox));
  return {};
}

/** Whoever calls it holds the sandbox's lifecycle. */
export async function stopSandbox({ pods, events }: RpcContext, sandbox: Sandbox): Promise<void> {
  sandbox.beginStop();
  await Promise.all(pods.containersOf(sandbox.id).map((container) => container.stop('SIGKILL', 0)));
  if (sandbox.state !== PodSandboxState.SANDBOX_READY) return;
  await sandbox.markStopped();
  events.publish('stopped', sandbox.id, sandbox.id);
}
