/**
 * The proxy on the way to a server: an API server, or a registry of images.
 *
 * In: the `proxy-url` of a kubeconfig, or the variables of the environment that Go's programs heed, by their rules. Out:
 * where the proxy is, and how podloop is known to it. Pure; no error repeats what is written: it may hold a password.
 *
 * Source: https://pkg.go.dev/golang.org/x/net/http/httpproxy#Config
 *
 * @module
 */
import { BlockList, isIP } from 'node:net';
import { basicAuthorization } from './basic-authorization.js';
import { messageOf, PodloopError } from '../errors/errors.js';
import { isLoopback } from './is-loopback.js';
import { type HttpEndpoint, toHttpEndpoint } from './http-endpoint.js';

/** A proxy that connects further when it is asked to. */
export interface ProxyAddress extends HttpEndpoint {
  /** For the header `Proxy-Authorization`: a secret. */
  readonly authorization?: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Reads what a kubeconfig says. Throws an Error that says what would be right. */
export function readProxyUrl(text: string): ProxyAddress {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol.startsWith('socks') === true) {
    throw new Error('SOCKS is not supported; name a proxy that speaks HTTP, as in http://proxy.lab:3128');
  }
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    throw new Error('must be a URL such as http://proxy.lab:3128');
  }
  const endpoint = toHttpEndpoint(url);
  if (url.username + url.password === '') return endpoint;
  return { ...endpoint, authorization: basicAuthorization(decode(url.username), decode(url.password)) };
}

/**
 * What the environment says of the way to `server`: `HTTPS_PROXY`, or `HTTP_PROXY` for a server without TLS, but for the
 * machine itself and what `NO_PROXY` names. Undefined for no proxy. Throws OPTION_INVALID naming the variable.
 */
export function findProxy(server: URL, environment: Environment): ProxyAddress | undefined {
  const variable = findVariable(environment, server.protocol === 'http:' ? 'HTTP_PROXY' : 'HTTPS_PROXY');
  const target = toHttpEndpoint(server);
  if (variable === undefined || target.host === 'localhost' || isLoopback(target.host)) return undefined;
  const rules = findVariable(environment, 'NO_PROXY')?.text.toLowerCase().split(',') ?? [];
  if (rules.some((rule) => isNamedBy(rule.trim(), target))) return undefined;
  const { name, text } = variable;
  try {
    return readProxyUrl(/^[a-z][a-z\d+.-]*:\/\//i.test(text) ? text : `http://${text}`);
  } catch (error) {
    throw new PodloopError('OPTION_INVALID', `${name} in the environment: ${messageOf(error)}`);
  }
}

function findVariable(
  environment: Environment,
  name: string,
): { readonly name: string; readonly text: string } | undefined {
  return [name, name.toLowerCase()]
    .map((each) => ({ name: each, text: environment[each]?.trim() ?? '' }))
    .find(({ text }) => text !== '');
}

/** Whether a rule of NO_PROXY is about a server: `*`, a range of addresses, an address or a domain, perhaps with a port. */
function isNamedBy(rule: string, { host, port }: HttpEndpoint): boolean {
  if (rule === '' || rule === '*') return rule === '*';
  const [, net, bits] = /^([^/]+)\/(\d{1,3})$/.exec(rule) ?? [];
  if (net !== undefined) return isInRange(host, net, Number(bits));
  const [, before, onlyPort] = /^(\[.+\]|[^:]+):(\d+)$/.exec(rule) ?? [];
  if (onlyPort !== undefined && Number(onlyPort) !== port) return false;
  const name = (before ?? rule).replace(/^\[|\]$/g, '').replace(/^\*\./, '.');
  if (isIP(name) !== 0) return isInRange(host, name, isIP(name) === 4 ? 32 : 128);
  // With a dot before it, a domain is what is below it alone.
  return name.startsWith('.') ? host.endsWith(name) : host === name || host.endsWith(`.${name}`);
}

function isInRange(host: string, net: string, bits: number): boolean {
  const family = isIP(net);
  if (family === 0 || isIP(host) !== family || bits > (family === 4 ? 32 : 128)) return false;
  const type = family === 4 ? 'ipv4' : 'ipv6';
  const list = new BlockList();
  list.addSubnet(net, bits, type);
  return list.check(host, type);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error('has a name or password with a % that begins no escape; write it as %25');
  }
}
