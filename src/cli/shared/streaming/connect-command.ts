import { type AgentClient, type Query, withQuery } from '../api/agent-client.js';
import { readStatus, toApiError } from '../api/api-status.js';
import { failure } from '../../command-failure.js';
import { type CommandConnection, type StreamChoice } from './command-connection.js';
import { openSpdyCommand, SPDY_COMMAND_PROTOCOL } from './spdy-command-client.js';
import { openWebSocket, openWebSocketCommand } from './websocket-command-client.js';

/** What is to be connected with. */
export interface CommandTarget {
  /** Of a pod, with `/exec` or `/attach` behind it. */
  readonly path: string;
  readonly query: Query;
  readonly choice: StreamChoice;
}

/**
 * Connects to a command in a container, as kubectl does. Rejects with a CommandFailure.
 *
 * It uses WebSocket if the runtime supports the protocol that signals the end of standard input, else SPDY.
 */
export async function connectCommand(client: AgentClient, target: CommandTarget): Promise<CommandConnection> {
  const { choice } = target;
  const query: Query = { ...target.query, ...choice };
  const path = withQuery(target.path, query);
  const answer = await openWebSocket(client.socketPath, path, client.signal).catch(() => undefined);
  // The code below reports a server that cannot be reached.
  if (answer !== undefined) {
    if ('socket' in answer) return openWebSocketCommand(answer.socket, choice);
    if (readStatus(answer.refused) !== undefined) throw toApiError(answer.code, answer.refused);
  }
  const headers = {
    connection: 'Upgrade',
    upgrade: 'SPDY/3.1',
    'x-stream-protocol-version': SPDY_COMMAND_PROTOCOL,
  };
  const upgrade = await client.upgrade('POST', target.path, { query, headers });
  if ('refused' in upgrade) throw toApiError(upgrade.code, upgrade.refused);
  const protocol = upgrade.answer.headers['x-stream-protocol-version'];
  if (protocol !== undefined && protocol !== SPDY_COMMAND_PROTOCOL) {
    upgrade.socket.destroy();
    throw failure(`the runtime speaks ${String(protocol)}, and not ${SPDY_COMMAND_PROTOCOL}`);
  }
  return openSpdyCommand(upgrade.socket, choice);
}
