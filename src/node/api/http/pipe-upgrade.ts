/**
 * Joins a client that requests an upgrade with the runtime's streaming server.
 *
 * Their protocol (SPDY/3.1, WebSocket) is between them; only the request and the first answer are read.
 *
 * @module
 */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { type Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Clock } from '#base/time/clock.js';
import { messageOf } from '#base/errors/errors.js';
import { ApiError } from './api-error.js';
import { type UpgradeTarget } from './api-request.js';
import { joinSockets } from './join-sockets.js';

/** A request for an upgrade. */
export interface UpgradeClient {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  /** Data that has already followed the request. */
  readonly head: Buffer;
}

/** Limits of an upgraded connection. */
export interface UpgradeLimits {
  readonly clock: Clock;
  /** Ends it. */
  readonly signal: AbortSignal;
  /** It ends after this time without data either way, in milliseconds. */
  readonly idleMs: number;
}

/** How long the streaming server may take for its first answer. */
const ANSWER_MS = 30_000;
/** Headers that only concern the connection to this server. */
const OWN_HEADERS = new Set(['host', 'origin', 'authorization', 'cookie', 'proxy-authorization']);

/**
 * Sends the request on to the target and joins both sides if that agrees; otherwise passes on its refusal.
 *
 * Resolves when the connection has ended. Rejects with an {@link ApiError} when the target is unreachable;
 * nothing was sent to the client then.
 */
export async function pipeUpgrade(
  client: UpgradeClient,
  { url, onJoined }: UpgradeTarget,
  limits: UpgradeLimits,
): Promise<void> {
  const answer = await ask(client.request, url, limits);
  client.socket.write(formatHead(answer.response));
  if (answer.kind === 'refused') {
    await pipeline(answer.response, client.socket).catch(() => undefined);
    client.socket.destroy();
    return;
  }
  onJoined?.();
  if (answer.head.length > 0) client.socket.write(answer.head);
  if (client.head.length > 0) answer.socket.write(client.head);
  await joinSockets(client.socket, answer.socket, limits);
}

type Answer =
  | {
      readonly kind: 'joined';
      readonly response: IncomingMessage;
      readonly socket: Duplex;
      readonly head: Buffer;
    }
  | { readonly kind: 'refused'; readonly response: IncomingMessage };

function ask(request: IncomingMessage, target: URL, { clock, signal }: UpgradeLimits): Promise<Answer> {
  const send = target.protocol === 'https:' ? httpsRequest : httpRequest;
  const headers = ['Host', target.host];
  for (let index = 0; index < request.rawHeaders.length; index += 2) {
    const [name = '', value = ''] = request.rawHeaders.slice(index, index + 2);
    if (!OWN_HEADERS.has(name.toLowerCase())) headers.push(name, value);
  }
  return new Promise((resolve, reject) => {
    const call = send(target, {
      method: request.method,
      headers,
      agent: false,
      signal,
      // A certificate of the runtime's own, on this machine: no authority has signed it.
      rejectUnauthorized: false,
    });
    const limit = clock.setTimer(ANSWER_MS, () => call.destroy(new Error('it does not answer')), {
      unref: true,
    });
    const settle = (answer: Answer): void => {
      limit.cancel();
      resolve(answer);
    };
    call.once('upgrade', (response, socket, head) => settle({ kind: 'joined', response, socket, head }));
    call.once('response', (response) => settle({ kind: 'refused', response }));
    call.on('error', (error) => {
      limit.cancel();
      const message = `error dialing the runtime's streaming server: ${messageOf(error)}`;
      reject(new ApiError('InternalError', message, undefined, { cause: error }));
    });
    call.end();
  });
}

function formatHead({ statusCode = 502, statusMessage = '', rawHeaders }: IncomingMessage): Buffer {
  const lines = [`HTTP/1.1 ${statusCode} ${statusMessage}`];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = rawHeaders.slice(index, index + 2);
    // A refusal is written plainly, up to the end of the connection.
    if (statusCode !== 101 && /^(connection|keep-alive|transfer-encoding)$/i.test(name)) continue;
    lines.push(`${name}: ${value}`);
  }
  if (statusCode !== 101) lines.push('Connection: close');
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
}
