/**
 * The server of a page: its files, its sessions, and what it shows, which is that of a running agent or of a recording.
 *
 * In: requests of browsers on this machine. Out: what the content answers. Whoever opens the page needs a session, which a
 * one-time link opens; a request that another site has sent is refused, whatever it has.
 *
 * @module
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, type Socket } from 'node:net';
import { type Duplex } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { type Clock } from '#base/time/clock.js';
import { messageOf, PodloopError } from '#base/errors/errors.js';
import { parseJsonObject } from '#base/text/parse-json-object.js';
import { AgentAbsent } from '../api/agent-client.js';
import { ApiError } from '../api/api-status.js';
import { jsonOf, type PageAnswer, refusal, sendPage } from './answer.js';
import { findForeignSender, type Purpose } from './check-sender.js';
import { type LinkRefusal, PageAccess } from './page-access.js';
import { type PageContent, type PageRequest } from './page-content.js';
import { encodeFor, type PageFiles } from './page-files.js';
import { StrangerSockets } from './stranger-sockets.js';

/** What a {@link PageServer} needs. */
export interface PageServerOptions {
  readonly content: PageContent;
  readonly clock: Clock;
  readonly files: PageFiles;
  /** podloop's. */
  readonly version: string;
  /** A link was refused, which may mean that somebody else has opened it. */
  readonly onRefusedLink: (refusal: LinkRefusal) => void;
}

/** No other machine reaches it. */
const ADDRESS = '127.0.0.1';
const MAX_CONNECTIONS = 256;
/** Of those, without a session; a browser opens six at most. */
const MAX_STRANGERS = 64;
/** Longer than the slowest answer, the doctor's: a client that takes nothing of its answer is gone. */
const STALLED_MS = 120_000;
/** Of a connection: browsers wait for an answer before they send the next request. */
const MAX_OPEN_REQUESTS = 4;
const MAX_BODY_BYTES = 4_096;
const LIMITS = {
  ...{ headersTimeout: 10_000, requestTimeout: 30_000, connectionsCheckingInterval: 2_000 },
  ...{ keepAliveTimeout: 60_000, maxHeaderSize: 16 * 1_024, noDelay: true },
} as const;
/** The only path that every page has. */
const SESSION = '/session';

const LINK_ANSWERS: Readonly<Record<LinkRefusal, string>> = {
  used: 'this link was opened before: each opens the page once',
  expired: 'this link is too old: each can be opened for 15 minutes',
  unknown: 'this link is not of this server, which may have been started again',
};

/** See the module. */
export class PageServer implements AsyncDisposable {
  readonly #options: PageServerOptions;
  readonly #server: Server;
  readonly #openRequests = new WeakMap<Socket, number>();
  readonly #strangers = new StrangerSockets({ max: MAX_STRANGERS });
  #access: PageAccess | undefined;
  #port = 0;

  constructor(options: PageServerOptions) {
    this.#options = options;
    this.#server = createServer(LIMITS, (request, response) => void this.#serve(request, response));
    this.#server.maxConnections = MAX_CONNECTIONS;
    this.#server.timeout = STALLED_MS;
    this.#server.on('connection', (socket) => this.#strangers.add(socket));
    this.#server.on('upgrade', (request, socket, head) => this.#upgrade(request, socket, head));
    this.#server.on('clientError', (_error, socket) => socket.destroy());
  }

  /** Listens at a port of this machine; 0 for any. Rejects with PORT_UNUSABLE. */
  async listen(port: number): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', (error) => {
        const message = `${ADDRESS}:${port} cannot be used: ${messageOf(error)}`;
        reject(new PodloopError('PORT_UNUSABLE', message, { cause: error }));
      });
      this.#server.listen(port, ADDRESS, resolve);
    });
    this.#port = (this.#server.address() as AddressInfo).port;
    const { clock } = this.#options;
    this.#access = new PageAccess({ clock, cookieName: `podloop-${this.#port}` });
    return this.#port;
  }

  /** Makes a link that opens the page once. Its key is behind a #, which browsers send to nobody. */
  makeLink(): string {
    return `http://${ADDRESS}:${this.#port}/#key=${this.#access!.makeKey()}`;
  }

  /** Ends all connections. Idempotent. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#options.content.close?.();
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => void this.#server.close(() => resolve()));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { socket } = request;
    const count = (this.#openRequests.get(socket) ?? 0) + 1;
    if (count > MAX_OPEN_REQUESTS) {
      socket.destroy();
      return;
    }
    this.#openRequests.set(socket, count);
    response.once('close', () => this.#openRequests.set(socket, this.#openRequests.get(socket)! - 1));
    const ending = new AbortController();
    response.once('close', () => ending.abort());
    try {
      const answer = await this.#answer(request, response, ending.signal);
      if (answer !== undefined) sendPage(request, response, answer);
    } catch (error) {
      if (ending.signal.aborted) return;
      if (response.headersSent) response.destroy();
      else sendPage(request, response, toRefusal(error));
    }
  }

  /** Undefined once it has answered by itself. */
  async #answer(
    request: IncomingMessage,
    response: ServerResponse,
    signal: AbortSignal,
  ): Promise<PageAnswer | undefined> {
    const { method = '', headers } = request;
    const url = toUrl(request);
    if (url === undefined) return refusal(400, 'the address of the request cannot be read');
    const file = await this.#options.files.find(url.pathname);
    const isReading = method === 'GET' || method === 'HEAD';
    const purpose: Purpose = !isReading ? 'change' : file === undefined ? 'data' : 'page';
    const foreign = findForeignSender(headers, purpose);
    if (foreign !== undefined) return refusal(403, foreign);
    if (file !== undefined) {
      if (!isReading) return refusal(405, `${url.pathname} can only be read`);
      const { bytes, encoding } = await encodeFor(headers['accept-encoding']?.toString(), file);
      const coding: Record<string, string> = encoding === undefined ? {} : { 'content-encoding': encoding };
      const coded = { vary: 'accept-encoding', ...coding };
      return { code: 200, contentType: file.contentType, body: bytes, headers: coded };
    }
    if (url.pathname === SESSION && method === 'POST') return await this.#openSession(request);
    if (this.#access?.admits(headers) !== true)
      return refusal(401, 'there is no session: open the page with the link that the terminal shows');
    this.#strangers.admit(request.socket);
    return await this.#answerInSession({ method, url, response, signal });
  }

  async #answerInSession(request: PageRequest): Promise<PageAnswer | undefined> {
    const { content, version } = this.#options;
    const { method, url, response } = request;
    if (method === 'GET' && url.pathname === SESSION) return jsonOf(200, { version, ...content.facts });
    const answer = await content.answer(request);
    if (answer !== undefined || response.headersSent) return answer;
    return refusal(404, `there is no ${method} ${url.pathname}`);
  }

  async #openSession(request: IncomingMessage): Promise<PageAnswer> {
    const declared = Number(request.headers['content-length'] ?? Infinity);
    if (!(declared <= MAX_BODY_BYTES)) return refusal(413, `the body has more than ${MAX_BODY_BYTES} bytes`);
    const { key } = parseJsonObject((await buffer(request)).toString()) ?? {};
    if (typeof key !== 'string') return refusal(400, 'the body has no key');
    const outcome = this.#access!.open(key);
    if (typeof outcome === 'string') {
      this.#options.onRefusedLink(outcome);
      return refusal(403, LINK_ANSWERS[outcome]);
    }
    const { cookie, token } = outcome;
    return jsonOf(200, { token, version: this.#options.version }, { 'set-cookie': cookie });
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    // A browser says for every WebSocket where it comes from.
    const isForeign = findForeignSender(request.headers, 'change') !== undefined;
    if (isForeign || this.#access?.admits(request.headers) !== true) {
      refuseUpgrade(socket, '403 Forbidden');
      return;
    }
    this.#strangers.admit(request.socket);
    const url = toUrl(request);
    if (url === undefined || this.#options.content.upgrade?.(url, request, socket, head) !== true)
      refuseUpgrade(socket, '404 Not Found');
  }
}

/** Undefined for what is no address of this server. */
function toUrl({ url = '' }: IncomingMessage): URL | undefined {
  // Behind two slashes, or what browsers take for them, another host would be named.
  const isOwn = /^\/(?![/\\])/.test(url) && URL.canParse(url, `http://${ADDRESS}`);
  return isOwn ? new URL(url, `http://${ADDRESS}`) : undefined;
}

function toRefusal(error: unknown): PageAnswer {
  if (error instanceof ApiError) return refusal(error.code, error.told);
  return refusal(error instanceof AgentAbsent ? 503 : 502, messageOf(error).replace(/^error: /, ''));
}

function refuseUpgrade(socket: Duplex, status: string): void {
  socket.on('error', () => undefined);
  socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
}
