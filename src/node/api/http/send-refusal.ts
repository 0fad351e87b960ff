import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import { type Duplex } from 'node:stream';
import { type ApiError } from './api-error.js';
import { findNodePath } from '../node/node-paths.js';

/** A refusal as text: Kubernetes' API answers with a v1 Status, a kubelet with a few words. */
interface RefusalText {
  readonly contentType: string;
  readonly text: string;
}

/** The answer to a request that is refused; nothing of another one may have been sent. */
export function sendRefusal(request: IncomingMessage, response: ServerResponse, refusal: ApiError): void {
  const { contentType, text } = describe(refusal, request.url);
  // A body that was not read to its end would be taken for the next request.
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

/** The answer to a request whose connection is no longer the HTTP server's. */
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

/** Whether more than headers was announced. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}

function describe(refusal: ApiError, url: string | undefined): RefusalText {
  // What a kubelet has, too, is answered in words.
  if (url !== undefined && findNodePath(url) !== undefined) {
    return { contentType: 'text/plain; charset=utf-8', text: `${refusal.message}\n` };
  }
  return { contentType: 'application/json', text: `${JSON.stringify(refusal.toStatus())}\n` };
}
