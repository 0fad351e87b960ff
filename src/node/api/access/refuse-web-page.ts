import { ApiError } from '../http/api-error.js';
import { type ApiRequest } from '../http/api-request.js';

/** How {@link refuseWebPage} tells pages from programs. */
export interface WebPageRules {
  /** Also refused: what a browser asks for because its user does, or a page that came from here. */
  readonly ownPagesToo?: boolean;
}

/** The refusal of a request that a browser makes for a web page; undefined for others. */
export function refuseWebPage(
  headers: ApiRequest['headers'],
  { ownPagesToo = false }: WebPageRules = {},
): ApiError | undefined {
  const site = headers['sec-fetch-site'];
  const isOfPage = ownPagesToo ? site !== undefined : /^(cross|same)-site$/.test(String(site ?? ''));
  if (!isOfPage && headers['origin'] === undefined) return undefined;
  return new ApiError('Forbidden', 'requests of web pages are not answered');
}
