import { request as requestPlainly } from 'node:http';
import { request as requestSecurely } from 'node:https';
import { type Container, type HttpGetAction } from '#kube/container/container.js';
import { MAX_REDIRECTS, nextUrl } from '../../probes/http-probe.js';
import { probeUrl } from '../../probes/http-probe-request.js';

/** The target of a hook's request. */
export interface HookTarget {
  /** The pod's address, used where the hook names no host of its own. */
  readonly host: string;
  /** The container's ports, for a port given by name. */
  readonly ports: NonNullable<Container['ports']>;
}

const USER_AGENT = 'podloop/lifecycle';

/**
 * Sends the GET request of a hook and resolves at the head of any answer.
 *
 * Rejects when there is none, or with the signal's reason. Like the kubelet, it does not check certificates,
 * as pods create their own. It follows a redirect that stays on the host: many servers want a slash at the
 * end of a path, and the hook is behind it.
 */
export async function requestHook(
  action: HttpGetAction,
  target: HookTarget,
  signal: AbortSignal,
): Promise<void> {
  const host = action.host || target.host;
  if (host === '') throw new Error('failed to find networking container: the pod has no address');
  let url = probeUrl(action, host, findPort(action.port, target.ports));
  const headers = headersOf(action.httpHeaders ?? []);
  for (let requests = 1; ; requests++) {
    const next = nextUrl(url, await ask(url, headers, signal));
    if (next instanceof Error) throw next;
    if (next?.hostname !== url.hostname) return;
    if (requests >= MAX_REDIRECTS) throw new Error(`stopped after ${MAX_REDIRECTS} redirects`);
    url = next;
  }
}

async function ask(
  url: URL,
  headers: Record<string, string | string[]>,
  signal: AbortSignal,
): Promise<{ readonly status: number; readonly location: string | undefined }> {
  // Accepts malformed headers: only the status matters.
  const options = { headers, agent: false, rejectUnauthorized: false, insecureHTTPParser: true };
  signal.throwIfAborted();
  return await new Promise((resolve, reject) => {
    const onAbort = (): void => {
      request.destroy(signal.reason as Error);
    };
    const request = (url.protocol === 'https:' ? requestSecurely : requestPlainly)(
      url,
      options,
      (response) => {
        // Only the head is needed, and a body may never end.
        response.destroy();
        resolve({ status: response.statusCode ?? 0, location: response.headers.location });
      },
    );
    signal.addEventListener('abort', onAbort, { once: true });
    request.on('error', reject);
    request.on('close', () => signal.removeEventListener('abort', onAbort));
    request.end();
  });
}

function findPort(port: number | string, ports: HookTarget['ports']): number {
  if (typeof port === 'number') return port;
  const named = ports.find(({ name }) => name === port)?.containerPort;
  const found = named ?? (/^\d+$/.test(port) ? Number(port) : undefined);
  if (found === undefined) throw new Error(`the container has no port named ${JSON.stringify(port)}`);
  return found;
}

/** A header may be given several times. */
function headersOf(given: NonNullable<HttpGetAction['httpHeaders']>): Record<string, string | string[]> {
  const headers = new Map<string, string[]>();
  for (const { name, value = '' } of given) {
    const key = name.toLowerCase();
    headers.set(key, [...(headers.get(key) ?? []), value]);
  }
  const own = Object.fromEntries([...headers].map(([name, values]) => [name, oneOrAll(values)]));
  return { 'user-agent': USER_AGENT, accept: '*/*', ...own };
}

function oneOrAll(values: string[]): string | string[] {
  return values.length === 1 ? values[0]! : values;
}
