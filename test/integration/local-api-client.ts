import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { WebSocket } from 'ws';
import { SpdyClient } from '#support/clients/spdy-client.js';

/** An answer, whole. */
export interface ApiAnswer {
  readonly code: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
}

/** How a command in a container ended. */
export interface ExecEnd {
  readonly protocol: string;
  readonly stdout: string;
  readonly stderr: string;
  /** As the last channel says it. */
  readonly status: { readonly status: string; readonly details?: unknown };
}

/** Asks an agent at its socket. */
export class LocalApiClient {
  readonly socketPath: string;

  constructor(socketPath: string) {
    this.socketPath = socketPath;
  }

  async ask(path: string, method = 'GET', body?: unknown): Promise<ApiAnswer> {
    const { socketPath } = this;
    const headers = body === undefined ? {} : { 'Content-Type': 'application/json' };
    const call = request({ socketPath, path, method, headers, agent: false });
    call.end(body === undefined ? undefined : JSON.stringify(body));
    const [response] = (await once(call, 'response')) as [IncomingMessage];
    const chunks: Buffer[] = [];
    for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
    const { statusCode: code = 0, headers: answered } = response;
    return { code, headers: answered, text: Buffer.concat(chunks).toString() };
  }

  async json(path: string): Promise<unknown> {
    return JSON.parse((await this.ask(path)).text) as unknown;
  }

  /** Upgrades a connection to SPDY/3.1, as kubectl did before WebSocket. */
  async spdy(path: string, ...protocols: string[]): Promise<SpdyClient> {
    const { socketPath } = this;
    const upgrade = { Connection: 'Upgrade', Upgrade: 'SPDY/3.1' };
    const headers = { ...upgrade, 'X-Stream-Protocol-Version': protocols };
    const call = request({ socketPath, path, method: 'POST', headers, agent: false });
    call.end();
    const [response, socket, head] = (await once(call, 'upgrade')) as [IncomingMessage, Socket, Buffer];
    if (head.length > 0) socket.unshift(head);
    return new SpdyClient(socket, String(response.headers['x-stream-protocol-version']));
  }

  /** Runs a command, or attaches; `stdin` is written and, where the protocol can say so, ended. */
  async stream(path: string, protocols: readonly string[], stdin?: string): Promise<ExecEnd> {
    const socket = new WebSocket(`ws://agent${path}`, [...protocols], {
      createConnection: () => connect(this.socketPath),
    });
    const channels = new Map<number, Buffer[]>();
    socket.on('message', (data) => {
      const bytes = data as Buffer;
      const list = channels.get(bytes[0]!) ?? [];
      channels.set(bytes[0]!, [...list, bytes.subarray(1)]);
    });
    await once(socket, 'open');
    if (stdin !== undefined) {
      socket.send(Buffer.concat([Buffer.from([0]), Buffer.from(stdin)]));
      if (socket.protocol === 'v5.channel.k8s.io') socket.send(Buffer.from([255, 0]));
    }
    await once(socket, 'close');
    const textOf = (channel: number): string => Buffer.concat(channels.get(channel) ?? []).toString();
    const status = JSON.parse(textOf(3) || '{"status":"none"}') as ExecEnd['status'];
    return { protocol: socket.protocol, stdout: textOf(1), stderr: textOf(2), status };
  }
}
