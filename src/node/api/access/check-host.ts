import { isIP } from 'node:net';
import { isLoopback } from '#base/wire/is-loopback.js';
import { ApiError } from '../http/api-error.js';
import { type Authorize } from '../http/api-request.js';
import { withoutPrefix } from './peer-network.js';
import { refuseWebPage } from './refuse-web-page.js';

/**
 * On a server that is open to all, admits clients that address it by one of its own names.
 *
 * A page in a browser on this machine can point its own name here (DNS rebinding), and could then read the
 * answers. The name reveals it. So does what browsers say about requests of pages.
 *
 * `names` is called for each request, as addresses come and go.
 */
export function allowOwnHosts(names: () => readonly string[]): Authorize {
  return ({ headers }, { localAddress = '' }) => {
    const ofPage = refuseWebPage(headers);
    if (ofPage !== undefined) return ofPage;
    const host = headers['host'];
    // Only HTTP/1.0 may leave it out, and no browser does.
    if (typeof host !== 'string') return undefined;
    const name = hostnameOf(host);
    if (name === 'localhost' || names().some((own) => own.toLowerCase() === name)) return undefined;
    if (isLoopback(name)) return undefined;
    if (isIP(name) !== 0 && name === withoutPrefix(localAddress)) return undefined;
    return new ApiError(
      'Forbidden',
      'the Host of the request is no name of this server; use its address, or localhost',
    );
  };
}

/** `[::1]:10255` gives `::1`, `LOCALHOST:80` gives `localhost`. */
function hostnameOf(host: string): string {
  const [, bracketed, plain = ''] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host) ?? [];
  return (bracketed ?? plain).toLowerCase().replace(/\.$/, '');
}
