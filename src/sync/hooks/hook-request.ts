import { request as requestPlainly } from 'node:http';
import { request as requestSecurely } from 'node:https';
import { type Container, type HttpGetAction } from '../../model/container.js';

/** Where a hook's request goes. */
export interface HookTarget {
  /** The pod's address, used where the hook names no host of its own. */
  readonly host: string;
  /** The container's, for a port that is a name. */
  readonly ports: NonNullable<Container['ports']>;
}

const USER_AGENT = 'podloop/lifecycle';

/**
 * Sends the GET request of a hook. Resolves at the head of whatever answer; rejects when there is none, or with the
 * signal's reason. Certificates are not checked, as the kubelet does not: they are of the pod's own making.
 */
export async function requestHook(
  action: HttpGetAction,
  target: HookTarget,
  signal: AbortSignal,
): Promise<void> {
  const { path = '/', scheme = 'HTTP', httpHeaders = [] } = action;
  const host = action.host || target.host;
  if (host === '') throw new Error('failed to find networking container: the pod has no address');
  const port = findPort(action.port, target.ports);
  const headers = headersOf(httpHeaders);
  const options = { host, port, path, method: 'GET', headers, agent: false, rejectUnauthorized: false };
  signal.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const onAbort = (): void => {
      request.destroy(signal.reason as Error);
    };
    const request = (scheme === 'HTTPS' ? requestSecurely : requestPlainly)(options, (response) => {
      // The head is all that is wanted; a body may have no end.
      response.destroy();
      resolve();
    });
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

/** A header may be there several times. */
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
