import { type RemoveContainerRequest, type RemoveContainerResponse } from '#watch/messages';
import { type Container } from '../../container/container.js';
import { requireId } from '../require-id.js';
import { type RpcContext } from '../rpc-context.js';

/** CRI RemoveContainer: kills it if it runs, forgets it; its log stays. Again and unknown: no error. */
export async function removeContainer(
  context: RpcContext,
  { containerId }: RemoveContainerRequest,
): Promise<RemoveContainerResponse> {
  const container = context.pods.findContainer(requireId('container', containerId));
  if (container !== undefined) await removeOne(context, container);
  return {};
}

/** Removes one container, for this call and for the removal of a sandbox. */
export async function removeOne({ pods, events }: RpcContext, container: Container): Promise<void> {
  await container.retire(async () => {
    await pods.deleteContainer(container);
    events.publish('deleted', container.id, container.record.sandboxId);
  });
}
