import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import { type TlsOptions } from 'node:tls';
import { ApiError, badRequest } from './api-error.js';
import { MOST_CONNECTIONS, MOST_HEADERS } from './server-bounds.js';

/** What clients may do, at most. */
export interface HttpServerLimits {
  /** It speaks TLS with these, and plain HTTP without. */
  readonly tls?: TlsOptions;
  /** Connections beyond it are closed at once; 2,048 unless told. */
  readonly maxConnections?: number;
  /** Of them those of who has not shown who he is (default: 512). */
  readonly maxStrangers?: number;
  /** Of URL and headers together; 256 KiB unless told: commands of exec stand in the URL, each word of them. */
  readonly maxHeaderBytes?: number;
  /** So long a client may take for the headers of a request, in milliseconds (default: 10 s). */
  readonly headersTimeoutMs?: number;
  /** And for the whole of it (default: 60 s). */
  readonly requestTimeoutMs?: number;
}

const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 60_000;
/** How often it is looked who has taken too long: Node's 30 s would be what bounds a slow client. */
const TIMEOUT_LOOK_MS = 2_000;
/** So long a connection may wait for its next request. */
const KEEP_ALIVE_MS = 60_000;
/** As Go's servers: a client that has said nothing for so long is asked by the kernel whether it is there, also within a session. */
const PROBE_AFTER_MS = 15_000;
const HANDSHAKE_MS = 10_000;
const MOST_HEADER_BYTES = 256 * 1024;

/** A server of HTTP/1.1 that has bounds, and does not listen yet. */
export function makeHttpServer(given: HttpServerLimits): Server | TlsServer {
  const limits = {
    headersTimeout: given.headersTimeoutMs ?? HEADERS_TIMEOUT_MS,
    requestTimeout: given.requestTimeoutMs ?? REQUEST_TIMEOUT_MS,
    connectionsCheckingInterval: TIMEOUT_LOOK_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: given.maxHeaderBytes ?? MOST_HEADER_BYTES,
    noDelay: true,
    ...{ keepAlive: true, keepAliveInitialDelay: PROBE_AFTER_MS },
  };
  const { tls } = given;
  const server =
    tls === undefined
      ? createServer(limits)
      : createTlsServer({ ...limits, handshakeTimeout: HANDSHAKE_MS, ...tls });
  server.maxConnections = given.maxConnections ?? MOST_CONNECTIONS;
  // Node is silent of those beyond: more than are allowed, for whoever has more to be found out.
  server.maxHeadersCount = 2 * MOST_HEADERS;
  return server;
}

/** What is wrong with what came, when it was no request; `code` is Node's. */
export function explainClientError(
  code: string | undefined,
  { maxHeaderBytes = MOST_HEADER_BYTES }: HttpServerLimits,
): ApiError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new ApiError('RequestEntityTooLarge', `URL and headers have more than ${maxHeaderBytes} bytes`);
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new ApiError('RequestTimeout', 'the request did not come to its end in time');
    default:
      return badRequest('this is no HTTP request');
  }
}
