/**
 * The transport of the agent's servers: HTTP/1.1 at whatever each listens at, with bounds for everything that a client
 * does.
 *
 * ```
 * connection ─► bounds ─► its turn ─► authorize ─► route ─► handler ─► answer at the client's pace
 *                                                    └─► upgrade ─► piped to another server
 * ```
 *
 * In: routes, and who may do what. Out: answers. It knows nothing of pods, and handlers know nothing of sockets. Every
 * request has a signal that aborts when its client has gone or the server closes, and is told of on a channel.
 *
 * @module
 */
import { once, setMaxListeners } from 'node:events';
import { type IncomingMessage, type Server, ServerResponse } from 'node:http';
import { type Server as TlsServer } from 'node:https';
import { type Socket } from 'node:net';
import { type Duplex } from 'node:stream';
import { finished } from 'node:stream/promises';
import { type SecureContextOptions, type TLSSocket } from 'node:tls';
import { type Clock } from '#base/time/clock.js';
import { messageOf } from '#base/errors/errors.js';
import { httpConnectionDropped, type HttpServerName } from '#base/channels/http-channels.js';
import { type LinkedAbort, linkAbort } from '#base/async/linked-abort.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { listenPrivately, type PrivateSocket } from '#base/wire/private-socket.js';
import { settlesWithin } from '#base/async/settles-within.js';
import { ApiError, badRequest } from './api-error.js';
import { type ApiClient, type ApiRequest, type Authorize } from './api-request.js';
import { type ApiRouter, type FoundRoute } from './api-router.js';
import { Connections } from './connections.js';
import { codeOf, countRequest } from './count-request.js';
import { explainClientError, type HttpServerLimits, makeHttpServer } from './make-http-server.js';
import { PeerCertificates } from '../access/peer-certificates.js';
import { pipeUpgrade } from './pipe-upgrade.js';
import { RequestTurns } from './request-turns.js';
import { sendAnswer, toApiError } from './send-answer.js';
import { hasBody, refuseConnection, sendRefusal } from './send-refusal.js';
import { MOST_STRANGERS } from './server-bounds.js';
import { isEndless, toApiRequest } from './to-api-request.js';
import { WaitingBytes } from './waiting-bytes.js';

/** What an {@link ApiServer} needs. */
export interface ApiServerOptions extends HttpServerLimits {
  readonly clock: Clock;
  readonly router: ApiRouter;
  readonly authorize: Authorize;
  /** As what its requests are counted (default: `socket`). */
  readonly name?: HttpServerName;
  readonly logger?: Logger;
  /** What slow clients have not taken of ready-made answers; beyond it the slowest are cut off. 64 MiB unless told. */
  readonly maxWaitingBytes?: number;
  /** An upgraded connection ends when nothing was sent for so long; 4 h unless told, as streamingConnectionIdleTimeout. */
  readonly streamIdleMs?: number;
}

type Finding = (FoundRoute & { readonly isAnonymous: boolean }) | { readonly refusal: unknown };

const MOST_WAITING_BYTES = 64 * 1024 * 1024;
const STREAM_IDLE_MS = 4 * 60 * 60 * 1_000;
const STREAM_PROTOCOL = /websocket|spdy/i;
/** So long a client may take for an answer that is there as a whole. */
const TAKE_MS = 60_000;
/** So long answers under way may take to end when the server closes. */
const CLOSE_MS = 1_000;

/** See the module. */
export class ApiServer implements AsyncDisposable {
  readonly #options: ApiServerOptions;
  readonly #logger: Logger;
  readonly #name: HttpServerName;
  readonly #server: Server | TlsServer;
  readonly #turns = new RequestTurns();
  readonly #closing = new AbortController();
  readonly #waiting: WaitingBytes;
  /** Upgraded ones are not the HTTP server's any more. */
  readonly #upgraded = new Set<Duplex>();
  readonly #connections: Connections;
  readonly #certificates = new PeerCertificates();
  #authorities: SecureContextOptions['ca'];
  #socket: PrivateSocket | undefined;

  constructor(options: ApiServerOptions) {
    this.#options = options;
    this.#logger = options.logger ?? SILENT_LOGGER;
    this.#name = options.name ?? 'socket';
    this.#waiting = new WaitingBytes(options.maxWaitingBytes ?? MOST_WAITING_BYTES);
    // One listener for each request: many are no leak.
    setMaxListeners(0, this.#closing.signal);
    const dropped = (): void => httpConnectionDropped.publish({ server: this.#name });
    const { maxStrangers = MOST_STRANGERS } = options;
    this.#connections = new Connections({ maxStrangers, onDrop: dropped });
    this.#authorities = options.tls?.ca;
    this.#server = makeHttpServer(options);
    this.#server.on('request', (request, response) => {
      this.#turns.take(request.socket, request, async () => this.#answer(request, response));
    });
    this.#server.on('connection', (socket: Socket) => this.#connections.add(socket));
    this.#server.on('secureConnection', (socket: TLSSocket) => {
      if ((this.#certificates.find(socket)?.who.name ?? '') !== '') this.#connections.know(socket);
    });
    this.#server.on('upgrade', (request, socket: Socket, head) => {
      if (this.#mayUpgrade(request)) void this.#upgrade(request, socket, head);
      else this.#answerPlainly(request, socket);
    });
    this.#server.on('drop', () => {
      dropped();
      // Those who come go before those who only might ask again.
      this.#server.closeIdleConnections();
    });
    this.#server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
      else refuseConnection(socket, explainClientError(error.code, options));
    });
    this.#server.on('tlsClientError', (_error: Error, socket: Duplex) => socket.destroy());
  }

  /**
   * Listens at a unix socket that only its owner may open. Rejects with ENDPOINT_IN_USE when somebody answers there, and
   * with OPTION_INVALID when the path cannot be a socket's.
   */
  async listenAtSocket(path: string): Promise<void> {
    this.#socket = await listenPrivately(path, async (draft) => this.#listen({ path: draft }));
  }

  /** Listens at an address of this machine. Rejects with the system's error (EADDRINUSE, …); it can be tried again then. */
  async listenAtPort(host: string, port: number): Promise<void> {
    // Without a host Node listens at all addresses of both families, or of the one that there is.
    await this.#listen(host === '0.0.0.0' ? { port } : { host, port });
  }

  /**
   * New connections get this certificate and these authorities; of a server with TLS. Where the authorities are others than
   * before, connections for which those vouched are good for no further request.
   */
  setSecureContext(context: SecureContextOptions): void {
    (this.#server as TlsServer).setSecureContext(context);
    if (context.ca === this.#authorities) return;
    this.#authorities = context.ca;
    this.#connections.beginEra();
    this.#server.closeIdleConnections();
  }

  /** Takes no connection any more and ends those that there are, within about a second. Idempotent. */
  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort(new DOMException('the API server is closed', 'AbortError'));
    await this.#socket?.remove();
    const ended = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeIdleConnections();
    for (const socket of this.#upgraded) socket.destroy();
    if (await settlesWithin(ended, CLOSE_MS, this.#options.clock)) return;
    this.#server.closeAllConnections();
    this.#connections.destroyAll();
    await ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Can be tried again when it fails: nothing of a try is left behind. */
  async #listen(place: { readonly path: string } | { readonly host?: string; readonly port: number }) {
    const listening = once(this.#server, 'listening');
    this.#server.listen(place);
    await listening;
    this.#server.on('error', (error) => this.#logger.error('API server fails', error));
  }

  /** Never rejects. Resolves when the answer was taken, or its client is gone. */
  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { clock } = this.#options;
    if (this.#isOfOldAuthorities(request.socket)) {
      request.socket.destroy();
      return;
    }
    const abort = linkAbort(this.#closing.signal);
    response.once('close', () => abort.abort(clientGone()));
    let ended: (code: number) => void = () => undefined;
    let leave: () => void = () => undefined;
    let limit: { cancel(): void } | undefined;
    const mustBeTaken = (): void => {
      limit = clock.setTimer(TAKE_MS, () => response.destroy(), { unref: true });
    };
    try {
      const asked = toApiRequest(request, abort.signal);
      const found = await this.#find(asked, request);
      ended = this.#count(asked, found);
      if ('refusal' in found) throw found.refusal;
      const { route, params, isAnonymous } = found;
      if (route.kind === 'upgrade') throw badRequest('Upgrade request required');
      const answer = await route.handle({ ...asked, params, isAnonymous });
      // A body that nobody reads would be read on and on to get at the next request.
      if (hasBody(request) && !request.complete) response.setHeader('Connection', 'close');
      if (answer.kind !== 'stream') mustBeTaken();
      if (answer.kind === 'bytes') leave = this.#waiting.add(answer.body, () => response.destroy());
      await sendAnswer(response, answer, abort.signal);
    } catch (error) {
      if (limit === undefined) mustBeTaken();
      this.#refuse(request, response, abort, error);
    } finally {
      // What is left of a body that nobody wanted.
      request.resume();
      await finished(response).catch(() => undefined);
      leave();
      limit?.cancel();
      abort.unlink();
      ended(codeOf(response));
      const { socket } = request;
      // Whoever comes again may have another certificate.
      if (this.#isOfOldAuthorities(socket) || this.#isOver(socket)) socket.destroySoon();
    }
  }

  /**
   * Whether its certificate was judged by authorities that no longer are those that vouch for clients. It is closed then, as an idle
   * connection may be at any time: its client comes again, and the next handshake tells.
   */
  #isOfOldAuthorities(socket: Socket): boolean {
    return this.#certificates.find(socket) !== undefined && !this.#connections.isOfThisEra(socket);
  }

  /** Whether its certificate has ended since the handshake. */
  #isOver(socket: Socket): boolean {
    const shown = this.#certificates.find(socket);
    return shown !== undefined && this.#options.clock.now() >= shown.endsAtMs;
  }

  #refuse(request: IncomingMessage, response: ServerResponse, { signal }: LinkedAbort, error: unknown): void {
    if (response.destroyed || response.headersSent) {
      response.destroy();
      if (!signal.aborted) this.#tell(request, error);
      return;
    }
    const refusal = toApiError(error);
    if (refusal.reason === 'InternalError') this.#tell(request, error);
    sendRefusal(request, response, refusal);
  }

  /**
   * Whether an upgrade is the client's business here: where there is something to be upgraded to, or what it asks for is
   * nothing but that. Others (curl and Java, of HTTP/2) take an answer as it is just as well.
   */
  #mayUpgrade(request: IncomingMessage): boolean {
    // What comes behind the headers is no longer read as a body.
    if (hasBody(request) || STREAM_PROTOCOL.test(request.headers.upgrade ?? '')) return true;
    const { method = '', url = '' } = request;
    const found = this.#lookUp({ method, path: url.split('?')[0] ?? '' });
    return 'route' in found && found.route.kind === 'upgrade';
  }

  /** The HTTP server has let go of the connection: it is answered by hand, and ends. */
  #answerPlainly(request: IncomingMessage, socket: Socket): void {
    socket.on('error', () => socket.destroy());
    this.#turns.take(socket, request, async () => {
      const response = new ServerResponse(request);
      response.shouldKeepAlive = false;
      response.assignSocket(socket);
      response.once('finish', () => socket.destroySoon());
      socket.on('drain', () => response.emit('drain'));
      await this.#answer(request, response);
    });
  }

  async #upgrade(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    const { clock, streamIdleMs = STREAM_IDLE_MS } = this.#options;
    if (this.#isOfOldAuthorities(socket)) {
      socket.destroy();
      return;
    }
    const abort = linkAbort(this.#closing.signal);
    this.#upgraded.add(socket);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => {
      this.#upgraded.delete(socket);
      abort.abort(clientGone());
    });
    let ended: (code: number) => void = () => undefined;
    let code = 101;
    try {
      const asked = toApiRequest(request, abort.signal);
      const found = await this.#find(asked, request);
      ended = this.#count(asked, found);
      if ('refusal' in found) throw found.refusal;
      const { route, params } = found;
      if (route.kind !== 'upgrade') throw badRequest('this path does not take upgrades of the connection');
      const target = await route.handle({ ...asked, params });
      const limits = { clock, signal: abort.signal, idleMs: streamIdleMs };
      await pipeUpgrade({ request, socket, head }, target, limits);
    } catch (error) {
      const refusal = toApiError(error);
      code = refusal.code;
      if (refusal.reason === 'InternalError' && !abort.signal.aborted) this.#tell(request, error);
      refuseConnection(socket, refusal, request.url);
    } finally {
      abort.unlink();
      ended(code);
    }
  }

  /** What there is at the path, or why it is not to be had; who may not have it does not learn whether it is there. */
  async #find(asked: ApiRequest, { socket }: IncomingMessage): Promise<Finding> {
    const found = this.#lookUp(asked);
    const template = 'route' in found ? found.template : 'other';
    const verdict = await this.#options.authorize({ ...asked, template }, this.#toClient(socket));
    if (verdict instanceof ApiError) return { refusal: verdict };
    if (verdict === undefined) this.#connections.know(socket);
    return 'route' in found ? { ...found, isAnonymous: verdict === 'anonymous' } : found;
  }

  /** Who asks, as far as that was shown and holds, as a kubelet looks at each request. */
  #toClient(socket: Socket): ApiClient {
    const { localAddress, remoteAddress } = socket;
    const certificate = this.#isOver(socket) ? undefined : this.#certificates.find(socket)?.who;
    return { localAddress, remoteAddress, certificate };
  }

  #lookUp({ method, path }: Pick<ApiRequest, 'method' | 'path'>): FoundRoute | { readonly refusal: unknown } {
    try {
      return this.#options.router.find(method, path);
    } catch (error) {
      return { refusal: error };
    }
  }

  #count(asked: ApiRequest, found: Finding): (code: number) => void {
    const { method, headers } = asked;
    const isFound = 'route' in found;
    const path = isFound ? found.template : 'other';
    const longRunning = isFound && (found.route.kind === 'upgrade' || isEndless(asked));
    const isWebSocket = String(headers.upgrade).toLowerCase() === 'websocket';
    return countRequest({ server: this.#name, method, path, longRunning, isWebSocket }, this.#options.clock);
  }

  #tell({ method, url }: IncomingMessage, error: unknown): void {
    const cause = error instanceof Error ? error.cause : undefined;
    const fields = cause === undefined ? {} : { cause: messageOf(cause) };
    // The query may hold what people type into commands.
    this.#logger.error('Request to the API failed', error, { method, path: url?.split('?')[0], ...fields });
  }
}

function clientGone(): DOMException {
  return new DOMException('the client has gone', 'AbortError');
}
