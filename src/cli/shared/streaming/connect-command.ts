import { type AgentClient, ANSWER_LIMIT_MS, type Query, withQuery } from '../api/agent-client.js';
import { readStatus, toApiError } from '../api/api-status.js';
import { failure } from '../../command-failure.js';
import { type CommandConnection, type StreamChoice, readOutcome } from './command-connection.js';
import { openWebSocket, openWebSocketCommand } from './websocket-command-client.js';
import { type Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { SpdyClientSession } from '#base/wire/spdy/spdy-client-session.js';

/** What is to be connected with. */
export interface CommandTarget {
  /** Of a pod, with `/exec` or `/attach` behind it. */
  readonly path: string;
  readonly query: Query;
  readonly choice: StreamChoice;
  /** Of the request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Ends the wait for the connection. */
  readonly signal?: AbortSignal;
}

/**
 * Connects to a command in a container, as kubectl does. Rejects with a CommandFailure.
 *
 * It uses WebSocket if the runtime supports the protocol that signals the end of standard input, else SPDY.
 */
export async function connectCommand(client: AgentClient, target: CommandTarget): Promise<CommandConnection> {
  const { choice, headers = {} } = target;
  const { signal, release } = client.limit({
    limitMs: ANSWER_LIMIT_MS,
    ...(target.signal === undefined ? {} : { signal: target.signal }),
  });
  const query: Query = { ...target.query, ...choice };
  const path = withQuery(target.path, query);
  const answer = await openWebSocket(client, path, { signal, headers })
    .catch(() => undefined)
    .finally(release);
  // The code below reports a server that cannot be reached, or that has not answered.
  if (answer !== undefined) {
    if ('socket' in answer) return openWebSocketCommand(answer.socket, choice);
    if (readStatus(answer.refused) !== undefined) throw toApiError(answer.code, answer.refused);
  }
  const upgrade = await client.upgrade('POST', target.path, {
    ...{ query, signal },
    headers: {
      ...headers,
      connection: 'Upgrade',
      upgrade: 'SPDY/3.1',
      'x-stream-protocol-version': SPDY_COMMAND_PROTOCOL,
    },
  });
  if ('refused' in upgrade) throw toApiError(upgrade.code, upgrade.refused);
  const protocol = upgrade.answer.headers['x-stream-protocol-version'];
  if (protocol !== undefined && protocol !== SPDY_COMMAND_PROTOCOL) {
    upgrade.socket.destroy();
    throw failure(`the runtime speaks ${String(protocol)}, and not ${SPDY_COMMAND_PROTOCOL}`);
  }
  return openSpdyCommand(upgrade.socket, choice);
}

/** The value of X-Stream-Protocol-Version: the first protocol that separates exit codes from failures. */
const SPDY_COMMAND_PROTOCOL = 'v4.channel.k8s.io';

/** Opens the streams of a command on an upgraded connection, in the order in which Kubernetes' own client does. */
function openSpdyCommand(socket: Duplex, { stdin, stdout, stderr, tty }: StreamChoice): CommandConnection {
  const session = new SpdyClientSession(socket);
  const open = (streamtype: string): ReturnType<SpdyClientSession['open']> => session.open({ streamtype });
  const error = open('error');
  error.outbound.end();
  const input = stdin ? open('stdin') : undefined;
  const output = stdout ? open('stdout') : undefined;
  const errors = stderr && !tty ? open('stderr') : undefined;
  const sizes = tty ? open('resize') : undefined;
  output?.outbound.end();
  errors?.outbound.end();
  input?.inbound.resume();
  sizes?.inbound.resume();
  const outcome = text(error.inbound).then(readOutcome, () => undefined);
  return {
    stdin: input?.outbound,
    stdout: output?.inbound,
    stderr: errors?.inbound,
    outcome,
    resize: ({ columns, rows }) => {
      sizes?.outbound.write(Buffer.from(`${JSON.stringify({ Width: columns, Height: rows })}\n`));
    },
    destroy: () => session.destroy(),
  };
}
