import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, ServerResponse } from 'node:http';
import { type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { type WebSocket, WebSocketServer } from 'ws';

/** A request that came, as a test looks at it. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly body: string;
  /** Of a patch: its kind. */
  readonly contentType?: string | undefined;
}

/** Answers a request: with an object, or on its own. */
export type FakeHandler = (
  request: SeenRequest,
  answer: ServerResponse,
) => object | Promise<object> | undefined;

/** An agent's API as a test wants it, at a socket of its own. Paths without an answer are NotFound. */
export class FakeAgentServer implements AsyncDisposable {
  readonly socketPath: string;
  readonly requests: SeenRequest[] = [];
  readonly #folder: string;
  readonly #server: Server;
  readonly #handlers = new Map<string, FakeHandler>();
  readonly #sockets = new WebSocketServer({ noServer: true });
  readonly #socketHandlers = new Map<string, ((socket: WebSocket) => void) | 'silent'>();
  readonly #silent = new Set<Duplex>();

  private constructor(folder: string) {
    this.#folder = folder;
    this.socketPath = join(folder, 'podloop.sock');
    this.#server = createServer((request, answer) => void this.#answer(request, answer));
    this.#server.on('upgrade', (request, socket, head) => {
      const { pathname, searchParams } = new URL(request.url ?? '/', 'http://agent');
      const handler = this.#socketHandlers.get(pathname);
      const query = Object.fromEntries(searchParams);
      const seen = { method: request.method ?? '', path: pathname, query, body: '' };
      this.requests.push(seen);
      const refuse = this.#handlers.get(`${seen.method} ${pathname}`);
      if (handler === 'silent') this.#silent.add(socket);
      else if (handler !== undefined) this.#sockets.handleUpgrade(request, socket, head, handler);
      else if (refuse !== undefined) void refuse(seen, answerOn(request, socket));
      else socket.end(refuseUpgrade(pathname));
    });
  }

  static async start(): Promise<FakeAgentServer> {
    const fake = new FakeAgentServer(await mkdtemp(join(tmpdir(), 'podloop-fake-agent-')));
    await new Promise<void>((resolve) => fake.#server.listen(fake.socketPath, resolve));
    return fake;
  }

  /** Answers `METHOD /path` from now on, and refuses WebSockets there with what the handler sends. */
  on(place: string, handler: FakeHandler): void {
    this.#handlers.set(place, handler);
  }

  /** Takes WebSockets at a path from now on, or does not answer; refuses them without a handler. */
  onSocket(path: string, handler: ((socket: WebSocket) => void) | 'silent' | undefined): void {
    if (handler === undefined) this.#socketHandlers.delete(path);
    else this.#socketHandlers.set(path, handler);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets.clients) socket.terminate();
    for (const socket of this.#silent) socket.destroy();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    await rm(this.#folder, { recursive: true });
  }

  async #answer(request: IncomingMessage, answer: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://agent');
    const query = Object.fromEntries(searchParams);
    const contentType = request.method === 'PATCH' ? { contentType: request.headers['content-type'] } : {};
    const body = await text(request);
    const seen: SeenRequest = { method: request.method ?? '', path: pathname, query, body, ...contentType };
    const place = `${seen.method} ${pathname}`;
    // A `podloop ps` of another test asks every agent of the machine who it is: that is nothing of this test.
    if (place !== 'GET /agent' || this.#handlers.has(place)) this.requests.push(seen);
    const watch = query['watch'] === 'true' ? this.#handlers.get(`WATCH ${pathname}`) : undefined;
    const handler = watch ?? this.#handlers.get(place);
    if (handler === undefined) {
      const name = pathname.split('/').at(-1)!;
      sendStatus(answer, 404, 'NotFound', `pods ${JSON.stringify(name)} not found`);
      return;
    }
    const object = await handler(seen, answer);
    if (object === undefined) return;
    answer.setHeader('content-type', 'application/json');
    answer.end(JSON.stringify(object));
  }
}

/** The answer to a request that wanted another protocol. */
function answerOn(request: IncomingMessage, socket: Duplex): ServerResponse {
  const answer = new ServerResponse(request);
  answer.shouldKeepAlive = false;
  answer.assignSocket(socket as Socket);
  answer.once('finish', () => socket.end());
  return answer;
}

function refuseUpgrade(path: string): string {
  const message = `${path} not found`;
  const status = {
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    message,
    reason: 'NotFound',
    code: 404,
  };
  const body = JSON.stringify(status);
  return `HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
}

/** Refuses a request as Kubernetes does; a handler may return what this returns. */
export function sendStatus(
  answer: ServerResponse,
  code: number,
  reason: string,
  message: string,
  details?: object,
): undefined {
  answer.statusCode = code;
  answer.setHeader('content-type', 'application/json');
  const status = { kind: 'Status', apiVersion: 'v1', status: 'Failure', message, reason, code };
  answer.end(JSON.stringify({ ...status, ...(details === undefined ? {} : { details }) }));
}
