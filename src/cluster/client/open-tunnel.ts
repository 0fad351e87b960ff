import { request as requestHttp } from 'node:http';
import { type Socket } from 'node:net';
import { type ProxyAddress } from './find-proxy.js';

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
  return await new Promise((resolve, reject) => {
    const request = requestHttp({
      ...{ method: 'CONNECT', path: target, createConnection: () => socket },
      headers: {
        ...{ host: target, connection: 'keep-alive' },
        ...(authorization !== undefined && { 'proxy-authorization': authorization }),
      },
    });
    const fail = (error: Error): void => {
      signal.removeEventListener('abort', onAbort);
      socket.destroy();
      reject(error);
    };
    const onAbort = (): void => fail(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
    request.on('error', fail);
    request.once('connect', ({ statusCode = 0, statusMessage = '' }, _, head) => {
      if (statusCode < 200 || statusCode > 299) {
        fail(new Error(`the proxy answers ${statusCode} ${statusMessage}`.trimEnd()));
        return;
      }
      signal.removeEventListener('abort', onAbort);
      if (head.length > 0) socket.unshift(head);
      resolve(socket);
    });
    request.end();
  });
}
