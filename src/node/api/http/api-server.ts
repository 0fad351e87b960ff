/**
 * The transport of the agent's servers: HTTP/1.1 at any address, with limits for everything that a client
 * does.
 *
 * ```
 * connection ─► bounds ─► its turn ─► authorize ─► route ─► handler ─► answer at the client's pace
 *                                                    └─► upgrade ─► piped to another server
 * ```
 *
 * In: routes and permissions. Out: answers. It knows nothing about pods, and handlers know nothing about
 * sockets. Every request has a signal that aborts when its client has gone or the server closes, and is
 * published on a channel.
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
import { publishTo, type Publisher } from '#base/channels/publishing-channel.js';
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
import { MAX_STRANGERS } from './server-bounds.js';
import { isEndless, toApiRequest } from './to-api-request.js';
import { WaitingBytes } from './waiting-bytes.js';

/** What an {@link ApiServer} needs. */
export interface ApiServerOptions extends HttpServerLimits, Publisher {
  readonly clock: Clock;
  readonly router: ApiRouter;
  readonly authorize: Authorize;
  /** The name in metrics of its requests (default: `socket`). */
  readonly name?: HttpServerName;
  readonly logger?: Logger;
  /**
   * Limit for complete answers that slow clients have not read (default: 64 MiB); beyond it the slowest are
   * cut off.
   */
  readonly maxWaitingBytes?: number;
  /** An idle upgraded connection ends after this time (default: 4 h, like streamingConnectionIdleTimeout). */
  readonly streamIdleMs?: number;
}

type Finding = (FoundRoute & { readonly isAnonymous: boolean }) | { readonly refusal: unknown };

const MAX_WAITING_BYTES = 64 * 1024 * 1024;
const STREAM_IDLE_MS = 4 * 60 * 60 * 1_000;
const STREAM_PROTOCOL = /websocket|spdy/i;
/** How long a client may take to read a complete answer. */
const TAKE_MS = 60_000;
/** How long answers under way may take to end when the server closes. */
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
  /** Upgraded connections no longer belong to the HTTP server. */
  readonly #upgraded = new Set<Duplex>();
  readonly #connections: Connections;
  readonly #certificates = new PeerCertificates();
  #authorities: SecureContextOptions['ca'];
  #socket: PrivateSocket | undefined;

  constructor(options: ApiServerOptions) {
    this.#options = options;
    this.#logger = options.logger ?? SILENT_LOGGER;
    this.#name = options.name ?? 'socket';
    this.#waiting = new WaitingBytes(options.maxWaitingBytes ?? MAX_WAITING_BYTES);
    // One listener per request: many are no leak.
    setMaxListeners(0, this.#closing.signal);
    const dropped = (): void =>
      publishTo(this.#options.channels, httpConnectionDropped, { server: this.#name });
    const { maxStrangers = MAX_STRANGERS } = options;
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
      // New clients go before idle connections.
      this.#server.closeIdleConnections();
    });
    this.#server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
      else refuseConnection(socket, explainClientError(error.code, options));
    });
    this.#server.on('tlsClientError', (_error: Error, socket: Duplex) => socket.destroy());
  }

  /**
   * Listens at a unix socket that only its owner may open.
   *
   * Rejects with ENDPOINT_IN_USE when another server answers there, and with OPTION_INVALID for an invalid
   * path.
   */
  async listenAtSocket(path: string): Promise<void> {
    this.#socket = await listenPrivately(path, async (draft) => this.#listen({ path: draft }));
  }

  /**
   * Listens at an address of this machine. Rejects with the system's error (EADDRINUSE, …), and can then be
   * retried.
   */
  async listenAtPort(host: string, port: number): Promise<void> {
    // Without a host, Node listens at all addresses of both families, or of the only one.
    await this.#listen(host === '0.0.0.0' ? { port } : { host, port });
  }

  /**
   * Sets the certificate and authorities of new connections of a server with TLS.
   *
   * If the authorities have changed, connections that the old ones vouched for get no further request.
   */
  setSecureContext(context: SecureContextOptions): void {
    (this.#server as TlsServer).setSecureContext(context);
    if (context.ca === this.#authorities) return;
    this.#authorities = context.ca;
    this.#connections.beginEra();
    this.#server.closeIdleConnections();
  }

  /** Accepts no more connections and ends the present ones, within about a second. Idempotent. */
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

  /** Can be retried after a failure, which leaves nothing behind. */
  async #listen(place: { readonly path: string } | { readonly host?: string; readonly port: number }) {
    const listening = once(this.#server, 'listening');
    this.#server.listen(place);
    await listening;
    this.#server.on('error', (error) => this.#logger.error('API server fails', error));
  }

  /** Never rejects. Resolves when the client has read the answer, or is gone. */
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
      // The server would read an unread body to its end to get to the next request.
      if (hasBody(request) && !request.complete) response.setHeader('Connection', 'close');
      if (answer.kind !== 'stream') mustBeTaken();
      if (answer.kind === 'bytes') leave = this.#waiting.add(answer.body, () => response.destroy());
      await sendAnswer(response, answer, abort.signal);
    } catch (error) {
      if (limit === undefined) mustBeTaken();
      this.#refuse(request, response, abort, error);
    } finally {
      // Discards the rest of an unread body.
      request.resume();
      await finished(response).catch(() => undefined);
      leave();
      limit?.cancel();
      abort.unlink();
      ended(codeOf(response));
      const { socket } = request;
      // The client may come again with another certificate.
      if (this.#isOfOldAuthorities(socket) || this.#isOver(socket)) socket.destroySoon();
    }
  }

  /**
   * Whether its certificate was checked by authorities that have changed since.
   *
   * It is closed then, as an idle connection may be at any time: the client comes again, and the next
   * handshake decides.
   */
  #isOfOldAuthorities(socket: Socket): boolean {
    return this.#certificates.find(socket) !== undefined && !this.#connections.isOfThisEra(socket);
  }

  /** Whether its certificate has expired since the handshake. */
  #isOver(socket: Socket): boolean {
    const shown = this.#certificates.find(socket);
    return shown !== undefined && this.#options.clock.now() >= shown.endsAtMs;
  }

  #refuse(request: IncomingMessage, response: ServerResponse, { signal }: LinkedAbort, error: unknown): void {
    if (response.destroyed || response.headersSent) {
      response.destroy();
      if (!signal.aborted) this.#logFailure(request, error);
      return;
    }
    const refusal = toApiError(error);
    if (refusal.reason === 'InternalError') this.#logFailure(request, error);
    sendRefusal(request, response, refusal);
  }

  /**
   * Whether to upgrade: the path supports it, or the client asks for nothing else.
   *
   * Others (curl and Java, for HTTP/2) accept a plain answer just as well.
   */
  #mayUpgrade(request: IncomingMessage): boolean {
    // What follows the headers is no longer parsed as a body.
    if (hasBody(request) || STREAM_PROTOCOL.test(request.headers.upgrade ?? '')) return true;
    const { method = '', url = '' } = request;
    const found = this.#lookUp({ method, path: url.split('?')[0] ?? '' });
    return 'route' in found && found.route.kind === 'upgrade';
  }

  /** Answers by hand and ends the connection, as the HTTP server has let go of it. */
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
      if (refusal.reason === 'InternalError' && !abort.signal.aborted) this.#logFailure(request, error);
      refuseConnection(socket, refusal, request.url);
    } finally {
      abort.unlink();
      ended(code);
    }
  }

  /**
   * The route at the path, or why it is not available; unauthorized clients do not learn whether it exists.
   */
  async #find(asked: ApiRequest, { socket }: IncomingMessage): Promise<Finding> {
    const found = this.#lookUp(asked);
    const template = 'route' in found ? found.template : 'other';
    const verdict = await this.#options.authorize({ ...asked, template }, this.#toClient(socket));
    if (verdict instanceof ApiError) return { refusal: verdict };
    if (verdict === undefined) this.#connections.know(socket);
    return 'route' in found ? { ...found, isAnonymous: verdict === 'anonymous' } : found;
  }

  /** The client's identity, checked for each request as in a kubelet. */
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
    const { clock, channels } = this.#options;
    return countRequest({ server: this.#name, method, path, longRunning, isWebSocket }, clock, channels);
  }

  #logFailure({ method, url }: IncomingMessage, error: unknown): void {
    const cause = error instanceof Error ? error.cause : undefined;
    const fields = cause === undefined ? {} : { cause: messageOf(cause) };
    // The query may contain what people type into commands.
    this.#logger.error('Request to the API failed', error, { method, path: url?.split('?')[0], ...fields });
  }
}

function clientGone(): DOMException {
  return new DOMException('the client has gone', 'AbortError');
}
