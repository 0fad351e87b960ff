import { type StartContainerRequest, type StartContainerResponse } from '#watch/messages';
import { refused } from '../../rpc-error.js';
import { requireId } from '../require-id.js';
import { type RpcContext } from '../rpc-context.js';

/** CRI StartContainer: returns once its process exists. When it cannot be run, the container is exited (128). */
export async function startContainer(
  { pods }: RpcContext,
  { containerId }: StartContainerRequest,
): Promise<StartContainerResponse> {
  const container = pods.getContainer(requireId('container', containerId));
  await container.start(() => {
    const sandbox = pods.findSandbox(container.record.sandboxId);
    if (sandbox?.takesContainers !== true) {
      throw refused(`sandbox container "${container.record.sandboxId}" is not running`);
    }
  });
  return {};
}
