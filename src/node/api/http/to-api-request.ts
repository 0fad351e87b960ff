import { type IncomingMessage } from 'node:http';
import { ApiError, badRequest } from './api-error.js';
import { type ApiRequest, isTrue } from './api-request.js';
import { readJsonBody } from './request-body.js';
import { MAX_HEADERS } from './server-bounds.js';

/**
 * Converts a request for handlers. Throws BadRequest for one without a path, or with more than one Host.
 *
 * Throws RequestEntityTooLarge for too many headers, as the dropped ones may be those that forbid an answer.
 */
export function toApiRequest(request: IncomingMessage, signal: AbortSignal): ApiRequest {
  if (request.rawHeaders.length > 2 * MAX_HEADERS)
    throw new ApiError('RequestEntityTooLarge', `the request has more than ${MAX_HEADERS} headers`);
  const { method = 'GET', url = '/', headers } = request;
  const [path = '/', ...rest] = url.split('?');
  if (!path.startsWith('/')) throw badRequest('the request has no path');
  // Node takes the first; a proxy before this server may have used another. RFC 9112, section 3.2.
  if ((request.headersDistinct['host']?.length ?? 0) > 1)
    throw badRequest('the request has more than one Host');
  return {
    ...{ method, path, params: {}, headers, signal },
    query: new URLSearchParams(rest.join('?')),
    readBody: () => readJsonBody(request),
  };
}

/** Whether the answer continues until one side leaves. */
export function isEndless({ path, query }: Pick<ApiRequest, 'path' | 'query'>): boolean {
  if (path === '/events') return query.get('follow') !== 'false';
  return isTrue(query, 'watch') || isTrue(query, 'follow');
}
