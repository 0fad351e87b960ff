import { type IncomingHttpHeaders } from 'node:http';

/** What a {@link findForeignOrigin} goes by. */
export interface OwnOrigin {
  /** `http://127.0.0.1:PORT`. */
  readonly baseUrl: string;
  /** The machine's name, by which a kubelet may have been called that sends requests on as they are. */
  readonly hostname: string;
}

/**
 * Why a request comes from a page that has no business here; undefined when it does not.
 *
 * A browser can be brought to connect to loopback by any page. It names the page in `Origin`; and a page whose name was
 * made to mean 127.0.0.1 after it was loaded is named in `Host`. Programs send no `Origin`, and an address as `Host`.
 */
export function findForeignOrigin({ origin, host }: IncomingHttpHeaders, own: OwnOrigin): string | undefined {
  if (origin !== undefined && !isOwnOrigin(origin, own))
    return `the page ${quote(origin)} may not open streams`;
  if (host === undefined || !isOwnHost(host, own))
    return `${quote(host ?? '')} is no address of this machine, so it cannot be the Host of a request`;
  return undefined;
}

function isOwnOrigin(origin: string, { baseUrl }: OwnOrigin): boolean {
  const { port } = new URL(baseUrl);
  return [baseUrl, `http://localhost:${port}`, `http://127.0.0.1:${port}`, `http://[::1]:${port}`].includes(
    origin.toLowerCase(),
  );
}

function isOwnHost(host: string, { hostname }: OwnOrigin): boolean {
  const name = host.toLowerCase().replace(/:\d{1,5}$/, '');
  if (/^\d{1,3}(\.\d{1,3}){3}$/.test(name) || /^\[[0-9a-f:.]+\]$/.test(name)) return true;
  const [short = ''] = hostname.toLowerCase().split('.');
  return [hostname.toLowerCase(), short, 'localhost'].includes(name);
}

function quote(text: string): string {
  return JSON.stringify(text.slice(0, 200));
}
