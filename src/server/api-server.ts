/**
 * The transport of the agent's API: HTTP/1.1 at whatever it listens at, with bounds for everything that a client does.
 *
 * ```
 * connection ─► bounds ─► authorize ─► route ─► handler ─► answer at the client's pace
 *                                        └─► upgrade ─► piped to another server
 * ```
 *
 * In: routes, and who may do what. Out: answers. It knows nothing of pods, and handlers know nothing of sockets. Every
 * request has a signal that aborts when its client has gone or the server closes.
 *
 * @module
 */
import { setMaxListeners } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import { type Duplex } from 'node:stream';
import { type Clock } from '../util/clock.js';
import { type LinkedAbort, linkAbort } from '../util/linked-abort.js';
import { type Logger, SILENT_LOGGER } from '../util/logger.js';
import { listenPrivately, type PrivateSocket } from '../util/private-socket.js';
import { settlesWithin } from '../util/settles-within.js';
import { ApiError, badRequest } from './api-error.js';
import { type ApiRequest, type Authorize } from './api-request.js';
import { type ApiRouter } from './api-router.js';
import { pipeUpgrade } from './pipe-upgrade.js';
import { readJsonBody } from './read-body.js';
import { sendAnswer, toApiError } from './send-answer.js';

/** What an {@link ApiServer} needs. */
export interface ApiServerOptions {
  readonly clock: Clock;
  readonly router: ApiRouter;
  readonly authorize: Authorize;
  readonly logger?: Logger;
  /** Connections beyond it are closed at once; 256 unless told. */
  readonly maxConnections?: number;
  /** An upgraded connection ends when nothing was sent for so long; 4 h unless told, as streamingConnectionIdleTimeout. */
  readonly streamIdleMs?: number;
}

const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 60_000;
const KEEP_ALIVE_MS = 60_000;
/** Commands of exec stand in the URL, each word of them. */
const MOST_HEADER_BYTES = 256 * 1024;
const STREAM_IDLE_MS = 4 * 60 * 60 * 1_000;
/** So long answers under way may take to end when the server closes. */
const CLOSE_MS = 1_000;

/** See the module. */
export class ApiServer implements AsyncDisposable {
  readonly #options: ApiServerOptions;
  readonly #logger: Logger;
  readonly #server: Server;
  readonly #closing = new AbortController();
  /** Upgraded ones are not the HTTP server's any more. */
  readonly #upgraded = new Set<Duplex>();
  #socket: PrivateSocket | undefined;

  constructor(options: ApiServerOptions) {
    this.#options = options;
    this.#logger = options.logger ?? SILENT_LOGGER;
    // One listener for each request: many are no leak.
    setMaxListeners(0, this.#closing.signal);
    const timeouts = {
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
    };
    this.#server = createServer({ ...timeouts, maxHeaderSize: MOST_HEADER_BYTES, noDelay: true });
    this.#server.maxConnections = options.maxConnections ?? 256;
    this.#server.on('request', (request, response) => void this.#answer(request, response));
    this.#server.on('upgrade', (request, socket, head) => void this.#upgrade(request, socket, head));
    this.#server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
      else
        refuse(
          socket,
          error.code === 'HPE_HEADER_OVERFLOW' ? tooLong() : badRequest('this is no HTTP request'),
        );
    });
  }

  /**
   * Listens at a unix socket that only its owner may open. Rejects with ENDPOINT_IN_USE when somebody answers there, and
   * with OPTION_INVALID when the path cannot be a socket's.
   */
  async listenAtSocket(path: string): Promise<void> {
    this.#socket = await listenPrivately(
      path,
      (draft) =>
        new Promise((resolve, reject) => {
          this.#server.once('error', reject);
          this.#server.listen(draft, () => {
            this.#server.off('error', reject);
            this.#server.on('error', (error) => this.#logger.error('API server fails', error));
            resolve();
          });
        }),
    );
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
    await ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const abort = linkAbort(this.#closing.signal);
    response.once('close', () => abort.abort(clientGone()));
    try {
      const asked = toApiRequest(request, abort.signal);
      const { route, params } = this.#find(asked);
      if (route.kind === 'upgrade') throw badRequest('Upgrade request required');
      const answer = await route.handle({ ...asked, params });
      await sendAnswer(response, answer, abort.signal);
    } catch (error) {
      this.#refuse(request, response, abort, error);
    } finally {
      abort.unlink();
      // What is left of a body that nobody wanted.
      request.resume();
    }
  }

  #refuse(request: IncomingMessage, response: ServerResponse, { signal }: LinkedAbort, error: unknown): void {
    if (response.destroyed || response.headersSent) {
      response.destroy();
      if (!signal.aborted) this.#tell(request, error);
      return;
    }
    const refusal = toApiError(error);
    if (refusal.reason === 'InternalError') this.#tell(request, error);
    const text = `${JSON.stringify(refusal.toStatus())}\n`;
    // A body that was not read to its end would be taken for the next request.
    if (!request.complete) response.setHeader('Connection', 'close');
    const { retryAfterSeconds } = refusal.details ?? {};
    if (retryAfterSeconds !== undefined) response.setHeader('Retry-After', retryAfterSeconds);
    response.writeHead(refusal.code, {
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(text),
    });
    response.end(text);
  }

  async #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const { clock, streamIdleMs = STREAM_IDLE_MS } = this.#options;
    const abort = linkAbort(this.#closing.signal);
    this.#upgraded.add(socket);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => {
      this.#upgraded.delete(socket);
      abort.abort(clientGone());
    });
    try {
      const asked = toApiRequest(request, abort.signal);
      const { route, params } = this.#find(asked);
      if (route.kind !== 'upgrade') throw badRequest('this path does not take upgrades of the connection');
      const target = await route.handle({ ...asked, params });
      const limits = { clock, signal: abort.signal, idleMs: streamIdleMs };
      await pipeUpgrade({ request, socket, head }, target, limits);
    } catch (error) {
      const refusal = toApiError(error);
      if (refusal.reason === 'InternalError' && !abort.signal.aborted) this.#tell(request, error);
      refuse(socket, refusal);
    } finally {
      abort.unlink();
    }
  }

  #find(asked: ApiRequest): ReturnType<ApiRouter['find']> {
    const refusal = this.#options.authorize(asked);
    if (refusal !== undefined) throw refusal;
    return this.#options.router.find(asked.method, asked.path);
  }

  #tell({ method, url }: IncomingMessage, error: unknown): void {
    // The query may hold what people type into commands.
    this.#logger.error('Request to the API failed', error, { method, path: url?.split('?')[0] });
  }
}

function toApiRequest(request: IncomingMessage, signal: AbortSignal): ApiRequest {
  const { method = 'GET', url = '/', headers } = request;
  const [path = '/', ...rest] = url.split('?');
  if (!path.startsWith('/')) throw badRequest('the request has no path');
  return {
    ...{ method, path, params: {}, headers, signal },
    query: new URLSearchParams(rest.join('?')),
    readBody: () => readJsonBody(request),
  };
}

/** The answer to a request whose connection is no longer the HTTP server's. */
function refuse(socket: Duplex, refusal: ApiError): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const text = `${JSON.stringify(refusal.toStatus())}\n`;
  const head = [
    `HTTP/1.1 ${refusal.code} ${STATUS_CODES[refusal.code] ?? ''}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(text)}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${text}`, () => socket.destroy());
}

function tooLong(): ApiError {
  return new ApiError('RequestEntityTooLarge', `URL and headers have more than ${MOST_HEADER_BYTES} bytes`);
}

function clientGone(): DOMException {
  return new DOMException('the client has gone', 'AbortError');
}
