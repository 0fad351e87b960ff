import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { type CommandPeer } from './sessions/command-peer.js';
import { type ConnectQueue } from './sessions/connect-queue.js';
import { type ConnectPort } from './sessions/forward-port.js';
import { runAttach, runExec } from './sessions/run-command-session.js';
import { type CommandRequest, type StreamRequest } from './stream-request.js';
import { type StreamingPorts } from './streaming-ports.js';

/** What a session of the streaming server works with. */
export interface StreamingServices {
  readonly ports: StreamingPorts;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly connects: ConnectQueue;
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

/** The way to the ports of a sandbox for one client, as long as it is there. */
export function connectPortsOf(
  { ports, connects }: StreamingServices,
  { sandboxId }: StreamRequest & { kind: 'portforward' },
): ConnectPort {
  return (port, signal) =>
    connects.connect((attempt) => ports.connectPort(sandboxId, port, attempt), { sandboxId, signal });
}
