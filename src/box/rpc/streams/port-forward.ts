import { PodSandboxState, type PortForwardRequest, type PortForwardResponse } from '#watch/messages';
import { invalidArgument, refused } from '../../rpc-error.js';
import { type StreamingContext } from './grant-streams.js';
import { requireId } from '../require-id.js';

const LARGEST_PORT = 65_535;

/**
 * CRI PortForward: the URL at which a client forwards ports of a sandbox, once and within a minute.
 *
 * `port` matters to the old protocol by WebSocket channels alone: the others name a port for each connection.
 */
export function portForward(
  { pods, streaming }: StreamingContext,
  { podSandboxId, port: ports }: PortForwardRequest,
): PortForwardResponse {
  const sandbox = pods.getSandbox(requireId('sandbox', podSandboxId));
  if (sandbox.state !== PodSandboxState.SANDBOX_READY) throw refused('sandbox container is not running');
  const wrong = ports.find((port) => port < 1 || port > LARGEST_PORT);
  if (wrong !== undefined) throw invalidArgument(`${wrong} is no port`);
  return { url: streaming.grant({ kind: 'portforward', sandboxId: sandbox.id, ports }) };
}
