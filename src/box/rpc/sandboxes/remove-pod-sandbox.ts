import { type RemovePodSandboxRequest, type RemovePodSandboxResponse } from '#watch/messages';
import { removeOne } from '../containers/remove-container.js';
import { requireId } from '../require-id.js';
import { type RpcContext } from '../rpc-context.js';
import { stopSandbox } from './stop-pod-sandbox.js';

/** CRI RemovePodSandbox: ends what runs, removes its containers, forgets it. Again and unknown: no error. */
export async function removePodSandbox(
  context: RpcContext,
  { podSandboxId }: RemovePodSandboxRequest,
): Promise<RemovePodSandboxResponse> {
  const { pods, events } = context;
  const sandbox = pods.findSandbox(requireId('sandbox', podSandboxId));
  await sandbox?.lifecycle.run(async () => {
    if (pods.findSandbox(sandbox.id) === undefined) return;
    await stopSandbox(context, sandbox, 'may');
    for (const container of pods.containersOf(sandbox.id)) await removeOne(context, container);
    await pods.deleteSandbox(sandbox);
    events.publish('deleted', sandbox.id, sandbox.id);
  });
  return {};
}
