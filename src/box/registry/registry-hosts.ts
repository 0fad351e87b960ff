/**
 * Which servers have the images of a registry, in the order in which they are asked.
 *
 * In: the name of a registry and folders in containerd's layout, `<folder>/<registry>/hosts.toml` or certificates beside
 * one another. Out: mirrors first, then the registry itself. A file that is wrong is an error that names it: an image
 * must not come from the Internet because a mirror's file has a typing error.
 *
 * Source: https://github.com/containerd/containerd/blob/main/docs/hosts.md
 *
 * @module
 */
import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parse as parseToml } from 'smol-toml';
import { isLoopback } from '#base/wire/is-loopback.js';
import { messageOf } from '#base/errors/errors.js';
import { parseGoDuration } from '#base/time/go-duration.js';
import { isRecord } from '#base/text/is-record.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { refused } from '../rpc-error.js';

/** What a host may be asked for: `resolve` for what a tag means, `pull` for what has a digest. */
export type HostCapability = 'pull' | 'resolve';

/** How TLS is spoken with a host. */
export interface HostTls {
  /** PEM of authorities besides the machine's. */
  readonly authorities: readonly string[];
  /** PEM of certificates that this side shows. They are credentials: no other host sees them. */
  readonly clients: readonly { readonly cert: string; readonly key: string }[];
  /** Any certificate will do. */
  readonly skipVerify: boolean;
}

/** A server that has images of a registry. */
export interface RegistryHost {
  /** `https://mirror.lab:5000/v2`: repositories are below it. Without a slash at the end. */
  readonly base: string;
  /** Whether it is the registry itself, which alone gets its logins. */
  readonly isOrigin: boolean;
  /** Whether it is the host before it without TLS, to be asked when that does not speak TLS. */
  readonly isPlainFallback?: boolean;
  readonly capabilities: readonly HostCapability[];
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: HostTls;
  /** How long a connection may take to come about, if the file says. */
  readonly dialTimeoutMs?: number;
}

const NO_TLS: HostTls = { authorities: [], clients: [], skipVerify: false };
const EVERYTHING: readonly HostCapability[] = ['pull', 'resolve'];
const DOCKER_HUB = 'docker.io';
/** Where it speaks the protocol: its name itself has a web page. */
const DOCKER_HUB_HOST = 'registry-1.docker.io';
const MAX_FILE_BYTES = 1024 * 1024;

/** The hosts of a registry, as `docker.io` or `localhost:5000`. Throws UNKNOWN, naming a file that is wrong. */
export async function findRegistryHosts(
  registry: string,
  configFolders: readonly string[],
): Promise<readonly RegistryHost[]> {
  const folder = await findFolder(registry, configFolders);
  if (folder === undefined) return originsOf(registry, NO_TLS);
  const file = join(folder, 'hosts.toml');
  const text = await readSmall(file).catch((error: unknown) => {
    if (systemCodeOf(error) === 'ENOENT') return undefined;
    throw refused(`${file} cannot be read: ${messageOf(error)}`);
  });
  if (text === undefined) return originsOf(registry, await readCertificates(folder));
  try {
    return await parseHosts(text, registry, folder);
  } catch (error) {
    throw refused(`${file} is wrong: ${messageOf(error)}`);
  }
}

/** containerd writes the port in two ways, as a colon cannot be in all names of folders. */
async function findFolder(registry: string, configFolders: readonly string[]): Promise<string | undefined> {
  const names = [...new Set([registry, registry.replace(/:(\d+)$/, '_$1_'), '_default'])];
  for (const configFolder of configFolders)
    for (const name of names) {
      const folder = join(configFolder, name);
      if ((await readdir(folder).catch(() => undefined)) !== undefined) return folder;
    }
  return undefined;
}

/** The registry itself. On this machine it may speak TLS or not, with any certificate. */
function originsOf(registry: string, tls: HostTls): readonly RegistryHost[] {
  const host = registry === DOCKER_HUB ? DOCKER_HUB_HOST : registry;
  const common = { isOrigin: true, capabilities: EVERYTHING, headers: {} };
  const secure = { ...common, base: `https://${host}/v2`, tls };
  if (!isLocal(host)) return [secure];
  const skipVerify = tls === NO_TLS;
  return [
    { ...secure, tls: { ...tls, skipVerify } },
    { ...common, isPlainFallback: true, base: `http://${host}/v2`, tls: NO_TLS },
  ];
}

async function parseHosts(text: string, registry: string, folder: string): Promise<readonly RegistryHost[]> {
  const document: Record<string, unknown> = parseToml(text);
  const hosts: RegistryHost[] = [];
  for (const [address, settings] of Object.entries(asTable(document['host'] ?? {}, 'host'))) {
    const base = toBase(address, settings);
    hosts.push(await toHost({ base, isOrigin: isHostOf(base, registry) }, settings, folder));
  }
  const { server } = document;
  if (server === undefined || server === '') {
    const [first, ...rest] = originsOf(registry, NO_TLS);
    return [...hosts, await toHost(first!, document, folder), ...rest];
  }
  if (typeof server !== 'string') throw new Error('"server" is no text');
  return [...hosts, await toHost({ base: toBase(server, document), isOrigin: true }, document, folder)];
}

function toBase(address: string, settings: unknown): string {
  const scheme = /^https?:\/\//.test(address) ? '' : isLocal(address) ? 'http://' : 'https://';
  const whole = `${scheme}${address}`;
  if (!URL.canParse(whole)) throw new Error(`"${address}" is no address of a host`);
  const url = new URL(whole);
  if (url.host === DOCKER_HUB) url.host = DOCKER_HUB_HOST;
  const { origin, pathname, username, password } = url;
  if (username + password !== '')
    throw new Error(`"${address}" has a login in it, which belongs into a header`);
  const path = pathname.replace(/\/+$/, '');
  const isWhole = asTable(settings, 'the host')['override_path'] === true || path.endsWith('/v2');
  return `${origin}${isWhole ? path : `${path}/v2`}`;
}

async function toHost(
  known: Pick<RegistryHost, 'base' | 'isOrigin'>,
  value: unknown,
  folder: string,
): Promise<RegistryHost> {
  const settings = asTable(value, known.base);
  const { capabilities = EVERYTHING, dial_timeout: dialTimeout = '0' } = settings;
  if (!Array.isArray(capabilities)) throw new Error('"capabilities" is no list');
  const dialTimeoutMs = toMilliseconds(dialTimeout);
  return {
    ...{ base: known.base, isOrigin: known.isOrigin },
    capabilities: EVERYTHING.filter((each) => (capabilities as unknown[]).includes(each)),
    headers: toHeaders(asTable(settings['header'] ?? {}, 'header')),
    tls: {
      authorities: await Promise.all(asTexts(settings['ca'], 'ca').map((file) => readPem(folder, file))),
      clients: await readClients(settings['client'], folder),
      skipVerify: settings['skip_verify'] === true,
    },
    ...(dialTimeoutMs > 0 && { dialTimeoutMs }),
  };
}

/** One file with certificate and key, several of those, or pairs of files. */
async function readClients(value: unknown, folder: string): Promise<HostTls['clients']> {
  const pairs = (typeof value === 'string' ? [value] : (value ?? [])) as unknown;
  if (!Array.isArray(pairs)) throw new Error('"client" is no list of files');
  return Promise.all(
    pairs.map(async (pair: unknown) => {
      const [certificate, key] = Array.isArray(pair) ? (pair as unknown[]) : [pair, undefined];
      if (typeof certificate !== 'string' || !(key === undefined || typeof key === 'string'))
        throw new Error('"client" has something that is no name of a file');
      const cert = await readPem(folder, certificate);
      return { cert, key: key === undefined || key === '' ? cert : await readPem(folder, key) };
    }),
  );
}

/** As Docker has them: authorities in `*.crt`, certificates of clients in `*.cert`, each with its `*.key`. */
async function readCertificates(folder: string): Promise<HostTls> {
  const names = (await readdir(folder)).sort();
  const read = (ending: RegExp): string[] => names.filter((name) => ending.test(name));
  const authorities = await Promise.all(read(/\.crt$/).map((name) => readPem(folder, name)));
  const clients = await Promise.all(
    read(/\.cert$/).map(async (name) => ({
      cert: await readPem(folder, name),
      key: await readPem(folder, name.replace(/\.cert$/, '.key')),
    })),
  );
  return { authorities, clients, skipVerify: false };
}

async function readPem(folder: string, name: string): Promise<string> {
  const file = resolve(folder, name);
  const text = await readSmall(file).catch((error: unknown) => {
    throw refused(`${file} cannot be read: ${messageOf(error)}`);
  });
  // What TLS is given without a certificate in it is ignored without a word, or refused without a name.
  if (!text.includes('-----BEGIN ')) throw refused(`${file} has no certificate or key as PEM`);
  return text;
}

async function readSmall(file: string): Promise<string> {
  const text = await readFile(file, 'utf8');
  if (text.length > MAX_FILE_BYTES) throw new Error('it is too long');
  return text;
}

function toHeaders(table: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(table).map(([name, value]) => {
      const text = asTexts(value, `header.${name}`).join(', ');
      if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name) || /[^\t\x20-\x7e]/.test(text))
        throw new Error('"header" has something that cannot be in one');
      return [name.toLowerCase(), text];
    }),
  );
}

/** Any duration of Go; 0 means the usual limit. */
function toMilliseconds(value: unknown): number {
  const wrong = new Error('"dial_timeout" is no duration such as "10s" or "1m30s"');
  let milliseconds: number;
  try {
    milliseconds = parseGoDuration(String(value), 'dial_timeout');
  } catch {
    throw wrong;
  }
  if (milliseconds < 0) throw wrong;
  return Math.min(milliseconds, 24 * 3_600_000);
}

function asTable(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (!isRecord(value)) throw new Error(`"${what}" is no table`);
  return value;
}

function asTexts(value: unknown, what: string): readonly string[] {
  const texts = (typeof value === 'string' ? [value] : (value ?? [])) as unknown;
  if (!Array.isArray(texts) || !texts.every((each) => typeof each === 'string'))
    throw new Error(`"${what}" is neither a text nor a list of texts`);
  return texts;
}

function isHostOf(base: string, registry: string): boolean {
  const { host } = new URL(base);
  return host === registry || (registry === DOCKER_HUB && host === DOCKER_HUB_HOST);
}

/** Whether an address, with or without a port and a path, is of this machine and not the port of HTTPS. */
function isLocal(address: string): boolean {
  const [, name = '', port] = /^(\[[^\]]*\]|[^:/]*)(?::(\d+))?/.exec(address) ?? [];
  const host = name.replace(/^\[|\]$/g, '');
  return port !== '443' && (host === 'localhost' || isLoopback(host));
}
