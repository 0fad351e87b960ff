import { ContainerState, type ExecSyncRequest, type ExecSyncResponse } from '#watch/messages';
import { collectOutput } from '../../container/output/collect-output.js';
import { refused } from '../../rpc-error.js';
import { checkCommand } from './check-command.js';
import { requireId } from '../require-id.js';
import { type RpcContext } from '../rpc-context.js';

/**
 * CRI ExecSync: runs a command inside of a running container, as its entrypoint was run.
 *
 * `timeout` is in seconds, 0 for none; when it passes, or the caller leaves, the command's whole session is killed
 * and the call ends with DEADLINE_EXCEEDED.
 */
export async function execSync(
  { pods, clock }: RpcContext,
  { containerId, cmd, timeout }: ExecSyncRequest,
  signal: AbortSignal,
): Promise<ExecSyncResponse> {
  const container = pods.getContainer(requireId('container', containerId));
  if (container.state !== ContainerState.CONTAINER_RUNNING) throw refused('container is not running');
  if (cmd.length === 0) throw refused('exec: no command specified');
  await checkCommand(container, cmd);
  const streams = { tty: false, stdin: false, stdout: true, stderr: true };
  const process = await container.openProcess({ argv: cmd, ...streams });
  return collectOutput(process, { timeoutMs: Number(timeout) * 1000, signal, clock });
}
