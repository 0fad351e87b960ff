import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect, createServer, type Socket } from 'node:net';

/** An answer, whole. */
export interface PortAnswer {
  readonly code: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
}

/** Asks a server on this machine. TLS with `tls`, whose certificate is taken as it is unless `ca` says more. */
export async function askPort(
  port: number,
  path: string,
  options: RequestOptions & { readonly tls?: object } = {},
): Promise<PortAnswer> {
  const { tls, ...rest } = options;
  const place = { host: '127.0.0.1', port, path, agent: false, ...rest };
  const call =
    tls === undefined ? httpRequest(place) : httpsRequest({ rejectUnauthorized: false, ...place, ...tls });
  call.end();
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  const { statusCode: code = 0, headers } = response;
  return { code, headers, text: Buffer.concat(chunks).toString() };
}

/** A raw connection and what comes on it. */
export class RawClient implements Disposable {
  readonly socket: Socket;
  readonly closed: Promise<void>;
  #got = '';

  constructor(port: number, text = '') {
    this.socket = connect({ host: '127.0.0.1', port });
    this.socket.on('error', () => undefined);
    this.socket.on('data', (data) => (this.#got += data.toString('latin1')));
    this.closed = new Promise((resolve) => this.socket.once('close', () => resolve()));
    if (text !== '') this.socket.write(text);
  }

  get got(): string {
    return this.#got;
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }
}

const [FIRST_PORT, LAST_PORT] = [20_000, 32_000];

/**
 * A port at which nobody listened a moment ago, below those that the kernel gives to connections: so that no connection of
 * a test that runs beside this one takes it meanwhile.
 */
export async function findFreePort(): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + Math.floor(Math.random() * (LAST_PORT - FIRST_PORT));
    const server = createServer();
    const isFree = await Promise.race([
      once(server.listen(port, '127.0.0.1'), 'listening').then(() => true),
      once(server, 'error').then(() => false),
    ]).catch(() => false);
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}
