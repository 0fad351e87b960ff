import { isIP } from 'node:net';
import { isLoopback } from '#base/wire/is-loopback.js';
import { ApiError } from '../http/api-error.js';
import { type Authorize } from '../http/api-request.js';
import { withoutPrefix } from './peer-network.js';
import { refuseWebPage } from './refuse-web-page.js';

/**
 * Lets those in who name a server that is open to all by one of its own names.
 *
 * A page in a browser on this machine can have its own name lead here (DNS rebinding), and would then read what it asks
 * for. The name gives it away. So does what browsers say of requests that pages make.
 *
 * `names` is asked with each request: an address may come, and go.
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

/** `[::1]:10255` is `::1`, `LOCALHOST:80` is `localhost`. */
function hostnameOf(host: string): string {
  const [, bracketed, plain = ''] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host) ?? [];
  return (bracketed ?? plain).toLowerCase().replace(/\.$/, '');
}
