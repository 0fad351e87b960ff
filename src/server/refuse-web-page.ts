import { ApiError } from './api-error.js';
import { type ApiRequest } from './api-request.js';

/**
 * The refusal of a request that a browser makes for a web page; undefined for others. `ownPagesToo`: also for one that
 * its user makes, or a page that came from here.
 */
export function refuseWebPage(
  headers: ApiRequest['headers'],
  { ownPagesToo = false }: { readonly ownPagesToo?: boolean } = {},
): ApiError | undefined {
  const site = headers['sec-fetch-site'];
  const isOfPage = ownPagesToo ? site !== undefined : /^(cross|same)-site$/.test(String(site ?? ''));
  if (headers['origin'] === undefined && !isOfPage) return undefined;
  return new ApiError('Forbidden', 'requests of web pages are not answered');
}
