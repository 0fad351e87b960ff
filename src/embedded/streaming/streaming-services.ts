import { type Clock } from '../../util/clock.js';
import { type Logger } from '../../util/logger.js';
import { type CommandPeer } from './command-peer.js';
import { type ConnectPort } from './forward-port.js';
import { PortConnector } from './port-connector.js';
import { runAttach, runExec } from './run-command-session.js';
import { type CommandRequest, type StreamRequest } from './stream-request.js';
import { type StreamingPorts } from './streaming-ports.js';

/** What a session of the streaming server works with. */
export interface StreamingServices {
  readonly ports: StreamingPorts;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Where `nsenter` is. */
  readonly path: string;
  readonly idleTimeoutMs: number;
  readonly streamCreationTimeoutMs: number;
}

/** Does what an exec or an attach asks for, for a client that is there with all of its streams. */
export function runCommand(
  { ports, clock }: StreamingServices,
  peer: CommandPeer,
  request: CommandRequest,
): Promise<void> {
  return request.kind === 'exec'
    ? runExec(peer, () => ports.openProcess(request.containerId, request), clock)
    : runAttach(peer, () => ports.openConsole(request.containerId), clock);
}

/** Gives a forwarding the way into the network of its pod for as long as it goes on. */
export async function withPortConnector(
  { ports, path }: StreamingServices,
  { sandboxId }: StreamRequest & { kind: 'portforward' },
  forward: (connect: ConnectPort) => Promise<void>,
): Promise<void> {
  const connector = new PortConnector({ findNetwork: () => ports.findNetwork(sandboxId), path });
  try {
    await forward((port) => connector.connect(port));
  } finally {
    connector.close();
  }
}
