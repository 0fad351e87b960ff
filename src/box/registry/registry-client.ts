/**
 * A client of the distribution protocol: what a tag means, documents by digest, and blobs.
 *
 * In: a repository of a registry and a login. Out: bytes that are what their descriptors say. Each question goes to the
 * hosts of the registry in order, mirrors first, until one has the answer. It assumes that registries are slow, break off
 * and lie: whatever comes has a bound in time and bytes, a blob goes on where it broke off, and nothing counts before
 * its digest was computed.
 *
 * ```
 * registry-image ─► registry-client ─► registry-tokens ─► registry-http ─► proxy, TLS
 *  which manifest    hosts, retries,     Authorization      redirects,
 *                    checks                                 limits
 * ```
 *
 * Source: https://github.com/opencontainers/distribution-spec/blob/main/spec.md
 *
 * @module
 */
import { status as grpcStatus } from '@grpc/grpc-js';
import { Backoff } from '#base/async/backoff.js';
import { messageOf } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { isRecord } from '#base/text/is-record.js';
import { type Clock } from '#base/time/clock.js';
import { DigestCheck, isDigest, sha256Of } from '../images/archive/digest.js';
import {
  type Descriptor,
  DOCUMENT_TYPES,
  MAX_DOCUMENT_BYTES,
  SCHEMA_1,
} from '../images/archive/oci-documents.js';
import { type PartialBlob } from '../images/blob-store.js';
import { isFull } from '#base/fs/disk-errors.js';
import { refused, RpcError, unimplemented } from '../rpc-error.js';
import { DockerLogins, type Login } from './docker-logins.js';
import { findRegistryHosts, type HostCapability, type RegistryHost } from './registry-hosts.js';
import {
  ConnectionError,
  type Environment,
  LEAST_BYTES,
  type RegistryAnswer,
  RegistryHttp,
} from './registry-http.js';
import { StatusError, toStatusError } from './registry-status.js';
import { LoginError, parseChallenges, RegistryTokens } from './registry-tokens.js';

/** What a runtime knows of registries. */
export interface RegistryOptions {
  /** Folders in containerd's layout: see `registry-hosts.ts`. */
  readonly configFolders: readonly string[];
  /** Names proxies, the folder of Docker's logins, and authorities. */
  readonly environment: Environment;
}

/** What {@link RegistryClient} needs besides. */
export interface RegistryClientOptions extends RegistryOptions {
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A manifest or an index as it was sent. */
export interface FetchedDocument {
  readonly descriptor: Descriptor;
  readonly text: string;
}

/** Asks registries. */
export class RegistryClient {
  readonly #options: RegistryClientOptions;
  readonly #http: RegistryHttp;
  readonly #logins: DockerLogins;

  constructor(options: RegistryClientOptions) {
    this.#options = options;
    this.#http = new RegistryHttp(options);
    this.#logins = new DockerLogins(options);
  }

  /** `name` is normalised: `docker.io/library/nginx`. Throws UNKNOWN where the registry's configuration is wrong. */
  async open(name: string, login: Login | undefined, signal: AbortSignal): Promise<Repository> {
    const slash = name.indexOf('/');
    const [registry, path] = [name.slice(0, slash), name.slice(slash + 1)];
    const hosts = await findRegistryHosts(registry, this.#options.configFolders);
    const loginFor = async ({ base, isOrigin }: RegistryHost): Promise<Login | undefined> =>
      (isOrigin ? login : undefined) ??
      (await this.#logins.find(isOrigin ? registry : new URL(base).host, path, signal));
    return new Repository({ ...this.#options, http: this.#http, registry, path, hosts, loginFor });
  }

  close(): void {
    this.#http.close();
  }
}

interface RepositoryOptions {
  readonly http: RegistryHttp;
  readonly registry: string;
  readonly path: string;
  readonly hosts: readonly RegistryHost[];
  readonly loginFor: (host: RegistryHost) => Promise<Login | undefined>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** How often one host is asked the same without any progress, and altogether. */
const MAX_ATTEMPTS = 5;
const MAX_ATTEMPTS_OF_MIRROR = 2;
const MAX_ATTEMPTS_EVER = 50;
/** … where it says nothing at all. A mirror is asked once then. */
const MAX_ATTEMPTS_OF_MUTE = 2;
/** A registry that wants a longer rest gets it from the agent, between two pulls. */
const MAX_REST_MS = 60_000;

/** A repository of a registry, with the tokens for it. */
export class Repository {
  readonly #options: RepositoryOptions;
  readonly #tokens: RegistryTokens;
  /** By host. */
  readonly #authorizations = new Map<string, string>();
  /** Those that turned out to speak no TLS. */
  readonly #withoutTls = new Set<string>();
  /** Mirrors that said nothing: the rest of the image is not waited for at each of its parts. */
  readonly #mute = new Set<string>();

  constructor(options: RepositoryOptions) {
    this.#options = options;
    this.#tokens = new RegistryTokens(options);
  }

  /** The digest that a tag means now, or the document itself where the registry does not say without sending it. */
  async resolve(tag: string, signal: AbortSignal): Promise<string | FetchedDocument> {
    return await this.#ask('resolve', signal, async (host) => {
      const head = await this.#findHead(host, tag, signal);
      const digest = head?.header('docker-content-digest') ?? '';
      return isDigest(digest) ? digest : await this.#getDocument(host, tag, undefined, signal);
    });
  }

  /** Throws unless the registry has a manifest or an index for whoever asks. */
  async confirm(digest: string, signal: AbortSignal): Promise<void> {
    await this.#ask('pull', signal, async (host) => {
      const head = await this.#findHead(host, digest, signal);
      if (head === undefined) await this.#getDocument(host, digest, undefined, signal);
    });
  }

  /** Undefined where the registry has no answer to a HEAD. */
  async #findHead(
    host: RegistryHost,
    tagOrDigest: string,
    signal: AbortSignal,
  ): Promise<RegistryAnswer | undefined> {
    const path = `manifests/${tagOrDigest}`;
    const head = await this.#request(host, { method: 'HEAD', path, accept: DOCUMENT_TYPES, signal });
    head.discard();
    if (head.status === 200) return head;
    if (![400, 405, 501].includes(head.status)) throw await toStatusError(head, this.#options.clock);
    return undefined;
  }

  /** A manifest or an index by its digest. Without a descriptor nothing else is known of it. */
  async fetchDocument(wanted: string | Descriptor, signal: AbortSignal): Promise<FetchedDocument> {
    const descriptor = typeof wanted === 'string' ? undefined : wanted;
    const digest = typeof wanted === 'string' ? wanted : wanted.digest;
    return await this.#ask('pull', signal, (host) => this.#getDocument(host, digest, descriptor, signal));
  }

  /** Fills a blob, from where it broke off. */
  async fetchBlob(descriptor: Descriptor, blob: PartialBlob, signal: AbortSignal): Promise<void> {
    await this.#ask(
      'pull',
      signal,
      (host) => this.#getBlob(host, descriptor, blob, signal),
      () => blob.size,
    );
  }

  async #getDocument(
    host: RegistryHost,
    tagOrDigest: string,
    descriptor: Descriptor | undefined,
    signal: AbortSignal,
  ): Promise<FetchedDocument> {
    const path = `manifests/${tagOrDigest}`;
    const answer = await this.#request(host, { method: 'GET', path, accept: DOCUMENT_TYPES, signal });
    if (answer.status !== 200) throw await toStatusError(answer, this.#options.clock);
    const text = await answer.text(MAX_DOCUMENT_BYTES);
    const said = answer.header('docker-content-digest');
    const digest = descriptor?.digest ?? (isDigest(tagOrDigest) ? tagOrDigest : said) ?? sha256Of(text);
    if (!isDigest(digest)) throw refused(`${hostOf(host)} sends a manifest with a digest that is none`);
    // Its digest leaves out the signatures in it.
    if (toMediaType(answer).startsWith('application/vnd.docker.distribution.manifest.v1+'))
      throw unimplemented(`the manifest ${digest} is ${SCHEMA_1}`);
    const check = new DigestCheck(`the manifest ${digest}`, digest, descriptor?.size);
    check.add(Buffer.from(text));
    check.assert();
    const mediaType = findDocumentType(text, descriptor?.mediaType ?? toMediaType(answer), digest);
    return { text, descriptor: { mediaType, digest, size: Buffer.byteLength(text), annotations: {} } };
  }

  async #getBlob(
    host: RegistryHost,
    { digest, size }: Descriptor,
    blob: PartialBlob,
    signal: AbortSignal,
  ): Promise<void> {
    const from = blob.size;
    if (from < size || size === 0) {
      const range: Record<string, string> = from > 0 ? { range: `bytes=${from}-` } : {};
      const path = `blobs/${digest}`;
      const answer = await this.#request(host, { method: 'GET', path, accept: [], more: range, signal });
      if (answer.status === 416) {
        answer.discard();
        await blob.restart();
        throw new ConnectionError(`${hostOf(host)} cannot go on with ${digest} where it broke off`);
      }
      if (answer.status !== 200 && answer.status !== 206)
        throw await toStatusError(answer, this.#options.clock, `blob ${digest}`);
      if (answer.status === 200 && from > 0) await blob.restart();
      try {
        checkLength(answer, blob.size, size, digest);
        for await (const piece of answer.pieces()) await blob.append(piece);
      } catch (error) {
        answer.discard();
        throw error;
      }
    }
    try {
      await blob.finish();
    } catch (error) {
      // What came before may be another host's lie.
      if (from === 0 || isFull(error)) throw error;
      throw new ConnectionError(messageOf(error));
    }
  }

  /** Asks the hosts that can answer, one after the other; throws what the last one said, with the words of all. */
  async #ask<T>(
    capability: HostCapability,
    signal: AbortSignal,
    work: (host: RegistryHost) => Promise<T>,
    progress: () => number = () => 0,
  ): Promise<T> {
    const hosts = this.#options.hosts.filter(
      ({ capabilities, base }) =>
        capabilities.includes(capability) && !this.#withoutTls.has(base) && !this.#mute.has(base),
    );
    const failures: { readonly host: RegistryHost; readonly error: unknown }[] = [];
    for (const host of hosts) {
      const before = failures.at(-1);
      if (host.isPlainFallback === true && before !== undefined) {
        if (!(before.error instanceof ConnectionError && before.error.isWithoutTls)) continue;
        this.#withoutTls.add(before.host.base);
        failures.pop();
      }
      try {
        return await this.#insist(host, signal, work, progress);
      } catch (error) {
        signal.throwIfAborted();
        failures.push({ host, error });
        if (isMute(error) && !host.isOrigin && host !== hosts.at(-1)) this.#mute.add(host.base);
        this.#options.logger.info('A registry does not help', { host: host.base, err: messageOf(error) }, 3);
      }
    }
    if (failures.length === 0) throw refused(`no host of ${this.#options.registry} may be asked for that`);
    const words = [...new Set(failures.map(withHost))].join('; ');
    const { error } = failures.at(-1)!;
    if (error instanceof RpcError) throw new RpcError(error.code, words, { cause: error });
    const isMissing = error instanceof StatusError && error.status === 404;
    throw new RpcError(isMissing ? grpcStatus.NOT_FOUND : grpcStatus.UNKNOWN, words, { cause: error });
  }

  async #insist<T>(
    host: RegistryHost,
    signal: AbortSignal,
    work: (host: RegistryHost) => Promise<T>,
    progress: () => number,
  ): Promise<T> {
    const { clock, logger, hosts } = this.#options;
    const isLast = host === hosts.at(-1);
    const backoff = new Backoff({ initialMs: 1_000, maxMs: 30_000, jitter: 0.5 });
    for (let attempts = 1; ; attempts++) {
      const before = progress();
      try {
        return await work(host);
      } catch (error) {
        signal.throwIfAborted();
        // Of a few bytes each time there would be no end.
        if (progress() >= before + LEAST_BYTES) backoff.reset();
        const restMs = restBefore(error);
        const mostAttempts = Math.min(
          isLast ? MAX_ATTEMPTS : MAX_ATTEMPTS_OF_MIRROR,
          isMute(error) ? (host.isOrigin ? MAX_ATTEMPTS_OF_MUTE : 1) : Infinity,
        );
        if (restMs === undefined || backoff.failures + 1 >= mostAttempts || attempts >= MAX_ATTEMPTS_EVER)
          throw error;
        const delayMs = Math.max(restMs, backoff.nextMs());
        logger.info('A registry is asked again', { host: host.base, delayMs, err: messageOf(error) }, 3);
        await clock.sleep(delayMs, signal);
      }
    }
  }

  async #request(
    host: RegistryHost,
    want: {
      readonly method: 'GET' | 'HEAD';
      readonly path: string;
      readonly accept: readonly string[];
      readonly more?: Readonly<Record<string, string>>;
      readonly signal: AbortSignal;
    },
  ): Promise<RegistryAnswer> {
    const { http, registry, path } = this.#options;
    const { method, signal } = want;
    const { base, isOrigin, tls, dialTimeoutMs } = host;
    const { origin } = new URL(base);
    const url = `${base}/${path}/${want.path}${isOrigin ? '' : `?ns=${encodeURIComponent(registry)}`}`;
    const headers = {
      // What is compressed on the way is not what has the digest.
      'accept-encoding': 'identity',
      ...(want.accept.length > 0 && { accept: want.accept.join(', ') }),
      ...want.more,
    };
    const send = (): Promise<RegistryAnswer> => {
      const authorization = this.#authorizations.get(base);
      const secretHeaders = { ...host.headers, ...(authorization !== undefined && { authorization }) };
      return http.send({ url, method, headers, secretHeaders, tls, dialTimeoutMs, signal });
    };
    const answer = await send();
    // Whoever it was redirected to gets no login.
    if (answer.status !== 401 || answer.origin !== origin) return answer;
    answer.discard();
    const login = await this.#options.loginFor(host);
    const server = new URL(base).host;
    for (const challenge of parseChallenges(answer.header('www-authenticate') ?? '')) {
      const authorization = await this.#tokens.authorize({
        challenge,
        origin,
        repository: path,
        login,
        tls,
        signal,
      });
      if (authorization === undefined) continue;
      this.#authorizations.set(base, authorization);
      const again = await send();
      if (again.status !== 401) return again;
      const { message } = await toStatusError(again, this.#options.clock);
      const who = login === undefined ? ' without a login' : ' with the login that there is';
      throw new LoginError(`${message}; the image may not exist, or may not be pulled${who}`);
    }
    throw new LoginError(`${server} wants a login, and there is none that it takes (401 Unauthorized)`);
  }
}

/** How long to wait before another attempt, at least; undefined when there is to be none. */
function restBefore(error: unknown): number | undefined {
  if (error instanceof ConnectionError) return error.isTransient ? 0 : undefined;
  if (!(error instanceof StatusError)) return undefined;
  return error.isPassing && error.restMs <= MAX_REST_MS ? error.restMs : undefined;
}

function isMute(error: unknown): boolean {
  return error instanceof ConnectionError && error.isMute;
}

function toMediaType(answer: RegistryAnswer): string {
  return (answer.header('content-type') ?? '').split(';')[0]!.trim().toLowerCase();
}

/**
 * What a document is. What it says itself and what it is announced as have to be the same, so that nobody takes a
 * manifest for an index that others saw; some registries announce nothing that could be meant.
 */
export function findDocumentType(text: string, announced: string, digest: string): string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw refused(`the manifest ${digest} is not JSON`);
  }
  if (!isRecord(value)) throw refused(`the manifest ${digest} is not an object`);
  const { mediaType: own, manifests, layers, config } = value;
  if (manifests !== undefined && (layers !== undefined || config !== undefined))
    throw refused(`the manifest ${digest} is an index and a manifest at once`);
  const known = DOCUMENT_TYPES.includes(announced) ? announced : undefined;
  if (typeof own === 'string' && known !== undefined && own !== known)
    throw refused(`the manifest ${digest} says that it is ${own.slice(0, 100)}, and was sent as ${known}`);
  if (typeof own === 'string') return own;
  const [index, manifest] = [
    'application/vnd.oci.image.index.v1+json',
    'application/vnd.oci.image.manifest.v1+json',
  ];
  return known ?? (manifests === undefined ? manifest : index);
}

/** Throws FAILED_PRECONDITION where what is to come cannot be what was announced. */
function checkLength(answer: RegistryAnswer, from: number, size: number, digest: string): void {
  const wrong = (why: string) => new RpcError(grpcStatus.FAILED_PRECONDITION, `the blob ${digest} ${why}`);
  if (answer.status === 206) {
    const [, begin, total] = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(answer.header('content-range') ?? '') ?? [];
    if (Number(begin) !== from || !['*', String(size)].includes(total ?? ''))
      throw wrong(`is sent from another place than was asked for`);
  }
  const length = answer.header('content-length');
  if (length !== undefined && Number(length) !== size - from)
    throw wrong(`has ${from + Number(length)} bytes instead of ${size}`);
}

/** What a host said or did, with its name: what is wrong may be a mirror's. */
function withHost({ host, error }: { readonly host: RegistryHost; readonly error: unknown }): string {
  const [name, said] = [hostOf(host), messageOf(error)];
  return said.includes(name) ? said : `${name}: ${said}`;
}

function hostOf({ base }: RegistryHost): string {
  return new URL(base).host;
}
