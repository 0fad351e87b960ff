import { ApiError } from './api-error.js';
import { type ApiRequest } from './api-request.js';

/** How {@link refuseWebPage} tells pages from programs. */
export interface WebPageRules {
  /** Also refused: what a browser asks for because its user does, or a page that came from here. */
  readonly ownPagesToo?: boolean;
  /**
   * An `Origin` alone does not make a page: an API server hands on what its own clients sent, and some programs send one
   * with each WebSocket. A browser cannot open one without its own name, which begins with `Mozilla/`.
   */
  readonly handedOn?: boolean;
}

/** The refusal of a request that a browser makes for a web page; undefined for others. */
export function refuseWebPage(
  headers: ApiRequest['headers'],
  { ownPagesToo = false, handedOn = false }: WebPageRules = {},
): ApiError | undefined {
  const site = headers['sec-fetch-site'];
  const isOfPage = ownPagesToo ? site !== undefined : /^(cross|same)-site$/.test(String(site ?? ''));
  const hasOrigin = headers['origin'] !== undefined;
  const isProgram = handedOn && !String(headers['user-agent'] ?? '').startsWith('Mozilla/');
  if (!isOfPage && (!hasOrigin || isProgram)) return undefined;
  return new ApiError('Forbidden', 'requests of web pages are not answered');
}
