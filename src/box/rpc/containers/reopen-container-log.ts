import { type ReopenContainerLogRequest, type ReopenContainerLogResponse } from '#watch/messages';
import { requireId } from '../require-id.js';
import { type RpcContext } from '../rpc-context.js';

/** CRI ReopenContainerLog: what comes after the answer is in a new file at the log's path. */
export async function reopenContainerLog(
  { pods }: RpcContext,
  { containerId }: ReopenContainerLogRequest,
): Promise<ReopenContainerLogResponse> {
  await pods.getContainer(requireId('container', containerId)).reopenLog();
  return {};
}
