import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import { type TlsOptions } from 'node:tls';
import { ApiError, badRequest } from './api-error.js';
import { MAX_CONNECTIONS, MAX_HEADERS } from './server-bounds.js';

/** Limits for clients. */
export interface HttpServerLimits {
  /** Options of TLS; without them it speaks plain HTTP. */
  readonly tls?: TlsOptions;
  /** Connections beyond it are closed at once (default: 2,048). */
  readonly maxConnections?: number;
  /** Limit for those of unidentified clients (default: 512). */
  readonly maxStrangers?: number;
  /** For URL and headers together (default: 256 KiB): exec has each word of its command in the URL. */
  readonly maxHeaderBytes?: number;
  /** How long a client may take for the headers of a request, in milliseconds (default: 10 s). */
  readonly headersTimeoutMs?: number;
  /** How long it may take for the whole request (default: 60 s). */
  readonly requestTimeoutMs?: number;
}

const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 60_000;
/** How often timeouts are checked: Node's 30 s would determine how long a slow client may take. */
const TIMEOUT_LOOK_MS = 2_000;
/** How long a connection may wait for its next request. */
const KEEP_ALIVE_MS = 60_000;
/**
 * Like Go's servers: the kernel probes a client that has been silent for this long, also within a session.
 */
const PROBE_AFTER_MS = 15_000;
const HANDSHAKE_MS = 10_000;
const MAX_HEADER_BYTES = 256 * 1024;

/** Creates an HTTP/1.1 server with limits, which does not listen yet. */
export function makeHttpServer(given: HttpServerLimits): Server | TlsServer {
  const limits = {
    headersTimeout: given.headersTimeoutMs ?? HEADERS_TIMEOUT_MS,
    requestTimeout: given.requestTimeoutMs ?? REQUEST_TIMEOUT_MS,
    connectionsCheckingInterval: TIMEOUT_LOOK_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: given.maxHeaderBytes ?? MAX_HEADER_BYTES,
    noDelay: true,
    ...{ keepAlive: true, keepAliveInitialDelay: PROBE_AFTER_MS },
  };
  const { tls } = given;
  const server =
    tls === undefined
      ? createServer(limits)
      : createTlsServer({ ...limits, handshakeTimeout: HANDSHAKE_MS, ...tls });
  server.maxConnections = given.maxConnections ?? MAX_CONNECTIONS;
  // Node silently drops headers beyond this: allow more than the limit, to detect a client that exceeds it.
  server.maxHeadersCount = 2 * MAX_HEADERS;
  return server;
}

/** What is wrong with input that is no request; `code` is Node's. */
export function explainClientError(
  code: string | undefined,
  { maxHeaderBytes = MAX_HEADER_BYTES }: HttpServerLimits,
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
