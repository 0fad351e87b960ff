import { type StopContainerRequest, type StopContainerResponse } from '#watch/messages';
import { requireId } from '../require-id.js';
import { type RpcContext } from '../rpc-context.js';

/**
 * CRI StopContainer: the stop signal, and SIGKILL for what is left after `timeout` seconds. Returns once it has
 * exited. Again, unknown or never started: no error.
 */
export async function stopContainer(
  { pods }: RpcContext,
  { containerId, timeout }: StopContainerRequest,
): Promise<StopContainerResponse> {
  const container = pods.findContainer(requireId('container', containerId));
  await container?.stop(container.stopSignal, toTimeoutMs(timeout));
  return {};
}

/** Longer than any grace period, shorter than what a timer can hold. */
const MAX_MS = 2 ** 31 - 1;

function toTimeoutMs(seconds: bigint): number {
  return Math.min(Number(seconds) * 1000, MAX_MS);
}
