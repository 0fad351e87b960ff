import { type IncomingHttpHeaders } from 'node:http';

/** Names of this machine that no other site can have. A tunnel may have another port. */
const OWN_HOST = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?$/i;

/** What a request is for: the page itself may be opened from anywhere, everything else is for the page alone. */
export type Purpose = 'page' | 'data' | 'change';

/**
 * Why a request is refused for where it comes from; undefined if it is not.
 *
 * A site can point a name of its own at this machine, which `Host` reveals, and can send requests from its own pages,
 * which `Origin` and `Sec-Fetch-Site` reveal. Another port of this machine is another site, too.
 *
 * Source: https://www.w3.org/TR/fetch-metadata/
 */
export function findForeignSender(headers: IncomingHttpHeaders, purpose: Purpose): string | undefined {
  const { host, origin } = headers;
  if (host === undefined || !OWN_HOST.test(host))
    return 'the Host of the request is no address of this machine; open the page at 127.0.0.1 or localhost';
  if (origin !== undefined && origin.toLowerCase() !== `http://${host.toLowerCase()}`)
    return 'the request comes from another page';
  if (origin === undefined && purpose === 'change') return 'the request does not say where it comes from';
  const site = headers['sec-fetch-site'];
  const isOwn = site === undefined || site === 'same-origin' || site === 'none';
  const isVisit = purpose === 'page' && headers['sec-fetch-mode'] === 'navigate';
  return isOwn || isVisit ? undefined : 'the request comes from another page';
}
