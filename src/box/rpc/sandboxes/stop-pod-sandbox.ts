import { PodSandboxState, type StopPodSandboxRequest, type StopPodSandboxResponse } from '#watch/messages';
import { messageOf } from '#base/errors/errors.js';
import { type Sandbox } from '../../pods/sandbox.js';
import { requireId } from '../require-id.js';
import { type RpcContext } from '../rpc-context.js';

/** CRI StopPodSandbox: kills its containers, then the sandbox is not ready. Again and unknown: no error. */
export async function stopPodSandbox(
  context: RpcContext,
  { podSandboxId }: StopPodSandboxRequest,
): Promise<StopPodSandboxResponse> {
  const sandbox = context.pods.findSandbox(requireId('sandbox', podSandboxId));
  if (sandbox !== undefined) await sandbox.lifecycle.run(() => stopSandbox(context, sandbox, 'must'));
  return {};
}

/**
 * Whoever calls it holds the sandbox's lifecycle.
 *
 * @param recorded whether it fails when the stop cannot be recorded: on a full disk a removal must go on, since it is
 * what makes room.
 */
export async function stopSandbox(
  { pods, events, parts, logger }: RpcContext,
  sandbox: Sandbox,
  recorded: 'must' | 'may',
): Promise<void> {
  sandbox.beginStop();
  const wasReady = sandbox.state === PodSandboxState.SANDBOX_READY;
  await Promise.all(pods.containersOf(sandbox.id).map((container) => container.stop('SIGKILL', 0)));
  // Before anything is undone: a runtime that is killed in between must not find a ready sandbox without a network.
  if (!sandbox.record.stopped) {
    await sandbox.markStopped().catch((error: unknown) => {
      if (recorded === 'must') throw error;
      logger.warn('Stop not recorded', { sandboxId: sandbox.id, err: messageOf(error) });
    });
  }
  if (wasReady) events.publish('stopped', sandbox.id, sandbox.id);
  await parts.release(sandbox);
}
