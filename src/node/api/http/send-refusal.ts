import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import { type Duplex } from 'node:stream';
import { type ApiError } from './api-error.js';
import { findNodePath } from '../node/node-paths.js';

/** The text of an error: Kubernetes' API answers with a v1 Status, a kubelet with a few words. */
interface RefusalText {
  readonly contentType: string;
  readonly text: string;
}

/** Sends an error to a request; no other answer may have begun. */
export function sendRefusal(request: IncomingMessage, response: ServerResponse, refusal: ApiError): void {
  const { contentType, text } = describe(refusal, request.url);
  // The rest of an unread body would be taken for the next request.
  if (hasBody(request) && !request.complete) response.setHeader('Connection', 'close');
  const { retryAfterSeconds } = refusal.details ?? {};
  if (retryAfterSeconds !== undefined) response.setHeader('Retry-After', retryAfterSeconds);
  if (refusal.allow !== undefined) response.setHeader('Allow', refusal.allow.join(', '));
  response.writeHead(refusal.code, {
    'Content-Type': contentType,
    'Content-Length': Buffer.byteLength(text),
    'X-Content-Type-Options': 'nosniff',
  });
  response.end(text);
}

/** Sends an error on a connection that no longer belongs to the HTTP server. */
export function refuseConnection(socket: Duplex, refusal: ApiError, url?: string): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const { contentType, text } = describe(refusal, url);
  const { retryAfterSeconds } = refusal.details ?? {};
  const head = [
    `HTTP/1.1 ${refusal.code} ${STATUS_CODES[refusal.code] ?? ''}`,
    `Content-Type: ${contentType}`,
    `Content-Length: ${Buffer.byteLength(text)}`,
    'Connection: close',
    ...(refusal.allow === undefined ? [] : [`Allow: ${refusal.allow.join(', ')}`]),
    ...(retryAfterSeconds === undefined ? [] : [`Retry-After: ${retryAfterSeconds}`]),
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${text}`, () => socket.destroy());
}

/** Whether a body was announced. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}

function describe(refusal: ApiError, url: string | undefined): RefusalText {
  // Paths of a kubelet answer in words.
  if (url !== undefined && findNodePath(url) !== undefined) {
    return { contentType: 'text/plain; charset=utf-8', text: `${refusal.message}\n` };
  }
  return { contentType: 'application/json', text: `${JSON.stringify(refusal.toStatus())}\n` };
}
