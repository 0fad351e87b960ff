import { type IncomingMessage } from 'node:http';
import { ApiError, badRequest } from './api-error.js';
import { type ApiRequest, isTrue } from './api-request.js';
import { readJsonBody } from './read-body.js';
import { MOST_HEADERS } from './server-bounds.js';

/**
 * A request as handlers see it. Throws BadRequest for one without a path, or with more than one Host, and
 * RequestEntityTooLarge for one with too many headers: those that say it is not to be answered may be behind them.
 */
export function toApiRequest(request: IncomingMessage, signal: AbortSignal): ApiRequest {
  if (request.rawHeaders.length > 2 * MOST_HEADERS)
    throw new ApiError('RequestEntityTooLarge', `the request has more than ${MOST_HEADERS} headers`);
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

/** Whether an answer goes on until somebody leaves. */
export function isEndless({ path, query }: Pick<ApiRequest, 'path' | 'query'>): boolean {
  if (path === '/events') return query.get('follow') !== 'false';
  return isTrue(query, 'watch') || isTrue(query, 'follow');
}
