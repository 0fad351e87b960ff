import { type IncomingMessage } from 'node:http';
import { type PeerCertificate, TLSSocket } from 'node:tls';
import { badRequest } from './api-error.js';
import { type ApiClient, type ApiRequest, isTrue } from './api-request.js';
import { readJsonBody } from './read-body.js';

/** A request as handlers see it. Throws BadRequest for one without a path, or with more than one Host. */
export function toApiRequest(request: IncomingMessage, signal: AbortSignal): ApiRequest {
  const { method = 'GET', url = '/', headers } = request;
  const [path = '/', ...rest] = url.split('?');
  if (!path.startsWith('/')) throw badRequest('the request has no path');
  // Node takes the first; whoever stands before us may have gone by another. RFC 9112, section 3.2.
  if ((request.headersDistinct['host']?.length ?? 0) > 1)
    throw badRequest('the request has more than one Host');
  return {
    ...{ method, path, params: {}, headers, signal },
    query: new URLSearchParams(rest.join('?')),
    readBody: () => readJsonBody(request),
  };
}

/** Who is at the other end of a connection, as far as that was shown. */
export function toApiClient(socket: IncomingMessage['socket']): ApiClient {
  const { localAddress } = socket;
  if (!(socket instanceof TLSSocket) || !socket.authorized) return { localAddress, certificate: undefined };
  // There may be several of each, or none.
  const { CN = '', O = [] } = (socket.getPeerCertificate() as Partial<PeerCertificate>).subject ?? {};
  return { localAddress, certificate: { name: [CN].flat()[0] ?? '', groups: [O].flat() } };
}

/** Whether an answer goes on until somebody leaves. */
export function isEndless({ path, query }: Pick<ApiRequest, 'path' | 'query'>): boolean {
  if (path === '/events') return query.get('follow') !== 'false';
  return isTrue(query, 'watch') || isTrue(query, 'follow');
}
