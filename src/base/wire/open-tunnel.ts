import { request as requestHttp } from 'node:http';
import { type Socket } from 'node:net';
import { type ProxyAddress } from './find-proxy.js';
import { untilReady } from './until-ready.js';

/**
 * Has the proxy behind `socket` connect to `target` (`host:port`), to which the connection leads from then on. Rejects with
 * what is wrong, or with the signal's reason, and leaves nothing open then.
 *
 * Source: https://www.rfc-editor.org/rfc/rfc9110#name-connect
 */
export async function openTunnel(
  socket: Socket,
  { authorization }: Pick<ProxyAddress, 'authorization'>,
  target: string,
  signal: AbortSignal,
): Promise<Socket> {
  await untilReady(socket, signal, (resolve, reject) => {
    const request = requestHttp({
      ...{ method: 'CONNECT', path: target, createConnection: () => socket },
      headers: {
        ...{ host: target, connection: 'keep-alive' },
        ...(authorization !== undefined && { 'proxy-authorization': authorization }),
      },
    });
    request.on('error', reject);
    request.once('connect', ({ statusCode = 0, statusMessage = '' }, _, head) => {
      if (statusCode < 200 || statusCode > 299) {
        reject(new Error(`the proxy answers ${statusCode} ${statusMessage}`.trimEnd()));
        return;
      }
      if (head.length > 0) socket.unshift(head);
      resolve();
    });
    request.end();
  });
  return socket;
}
