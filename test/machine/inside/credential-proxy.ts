import { createServer, request, type Server } from 'node:https';
import { type IncomingMessage, type ServerResponse } from 'node:http';
import { connect } from 'node:tls';
import { type Duplex } from 'node:stream';
import { SelfSigner } from '../../../src/node/api/tls/self-signed.js';
import { shell, shellOutput } from './node-shell.js';

const AGENT_PORT = 10_250;
const OWN_PORT = 10_260;
/** Of the proxy's own connections, which go to the agent itself. */
const OWN_ADDRESS = '127.0.0.9';
const RULE = `OUTPUT -p tcp --dport ${AGENT_PORT} ! -s ${OWN_ADDRESS} -j REDIRECT --to-ports ${OWN_PORT}`;

/**
 * Shows a token to a node's agent in the name of everybody on this machine who asks it at its usual port. The API server of Kubernetes'
 * node suite has no credentials, since the suite tells a kubelet to let anybody do anything; podloop never does.
 */
export class CredentialProxy implements AsyncDisposable {
  readonly #server: Server;
  readonly #token: string;

  static async start(token: string): Promise<CredentialProxy> {
    const pair = await new SelfSigner().make({ hosts: ['127.0.0.1'], nowMs: Date.now() });
    const proxy = new CredentialProxy(pair, token);
    await new Promise<void>((resolve) => proxy.#server.listen(OWN_PORT, '127.0.0.1', resolve));
    await shell(`iptables -t nat -A ${RULE}`);
    return proxy;
  }

  private constructor(pair: { readonly cert: string; readonly key: string }, token: string) {
    this.#token = token;
    this.#server = createServer(pair);
    this.#server.on('request', (asked, answer) => this.#forward(asked, answer));
    this.#server.on('upgrade', (asked, socket, head) => this.#upgrade(asked, socket, head));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await shellOutput(`iptables -t nat -D ${RULE}`);
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #forward(asked: IncomingMessage, answer: ServerResponse): void {
    const headers = { ...asked.headers, authorization: `Bearer ${this.#token}` };
    const forwarded = request({ ...TO_AGENT, method: asked.method, path: asked.url, headers }, (response) => {
      answer.writeHead(response.statusCode!, response.headers);
      response.pipe(answer);
    });
    forwarded.once('error', () => answer.destroy());
    answer.once('close', () => forwarded.destroy());
    asked.pipe(forwarded);
  }

  /** Streams of `exec` and `logs -f`: the head goes on with the token in it, and then bytes as they come. */
  #upgrade(asked: IncomingMessage, socket: Duplex, head: Buffer): void {
    const agent = connect(TO_AGENT, () => {
      const lines = asked.rawHeaders.flatMap((name, at, all) =>
        at % 2 === 0 && name.toLowerCase() !== 'authorization' ? [`${name}: ${all[at + 1]}`] : [],
      );
      const first = `${asked.method} ${asked.url} HTTP/1.1`;
      agent.write([first, ...lines, `Authorization: Bearer ${this.#token}`, '', ''].join('\r\n'));
      agent.write(head);
      socket.pipe(agent).pipe(socket);
    });
    agent.once('error', () => socket.destroy());
    socket.once('error', () => agent.destroy());
  }
}

const TO_AGENT = {
  ...{ host: '127.0.0.1', port: AGENT_PORT, localAddress: OWN_ADDRESS },
  rejectUnauthorized: false,
};
