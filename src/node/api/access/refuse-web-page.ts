import { ApiError } from '../http/api-error.js';
import { type ApiRequest } from '../http/api-request.js';

/** How {@link refuseWebPage} distinguishes pages from programs. */
export interface WebPageRules {
  /** Also refuses requests that the browser's user makes, or a page from this server. */
  readonly ownPagesToo?: boolean;
}

/** Refuses a request that a browser makes for a web page; undefined for others. */
export function refuseWebPage(
  headers: ApiRequest['headers'],
  { ownPagesToo = false }: WebPageRules = {},
): ApiError | undefined {
  const site = headers['sec-fetch-site'];
  const isOfPage = ownPagesToo ? site !== undefined : /^(cross|same)-site$/.test(String(site ?? ''));
  if (!isOfPage && headers['origin'] === undefined) return undefined;
  return new ApiError('Forbidden', 'requests of web pages are not answered');
}
