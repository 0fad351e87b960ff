import { type ContainerStatusRequest, type ContainerStatusResponse } from '#watch/messages';
import { toContainerStatus } from '../../messages.js';
import { requireId } from '../require-id.js';
import { type RpcContext } from '../rpc-context.js';

/** CRI ContainerStatus. Verbose adds the pid, the folder with its records, and what isolation there is not. */
export function containerStatus(
  { pods, isolation }: RpcContext,
  { containerId, verbose }: ContainerStatusRequest,
): ContainerStatusResponse {
  const container = pods.getContainer(requireId('container', containerId));
  const { record, files, pid } = container;
  const info = { sandboxID: record.sandboxId, pid, isolation: isolation.kind, directory: files.dir };
  return { status: toContainerStatus(container), info: verbose ? { info: JSON.stringify(info) } : {} };
}
