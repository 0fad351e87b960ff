import { type HttpGetAction } from '#kube/container/container.js';
import { joinHostPort } from '#base/wire/join-host-port.js';

/** The URL of an HTTP probe. Throws when it is invalid. Pure. */
export function probeUrl(action: HttpGetAction, host: string, port: number): URL {
  const { scheme = 'HTTP', path = '/' } = action;
  // Concatenated rather than resolved: a path that begins with two slashes is no host.
  const text = `${scheme.toLowerCase()}://${joinHostPort({ host, port })}${path.startsWith('/') ? '' : '/'}${path}`;
  if (!URL.canParse(text)) throw new Error(`${JSON.stringify(text)} is no URL`);
  return new URL(text);
}

/**
 * The headers of an HTTP probe by name in lower case: those in the manifest, and those of the kubelet's
 * probes. Pure.
 */
export function probeHeaders(action: HttpGetAction, userAgent: string): Record<string, string | string[]> {
  const written: Record<string, string[]> = {};
  for (const { name, value = '' } of action.httpHeaders ?? [])
    (written[name.toLowerCase()] ??= []).push(value);
  const { host, 'user-agent': agent = [userAgent], accept = ['*/*'], ...others } = written;
  return {
    ...others,
    // There can be only one host.
    ...(host === undefined ? {} : { host: host[0]! }),
    // An empty value removes these two.
    ...(agent.join('') === '' ? {} : { 'user-agent': agent }),
    ...(accept.join('') === '' ? {} : { accept }),
  };
}
