/**
 * One exchange with a registry over HTTP/1.1: connect, through a proxy where the environment names one, send, follow
 * redirects, and hand out the answer's head and its body in pieces.
 *
 * Nothing waits for ever: connecting, the head of an answer and every stretch of a body have a limit. Credentials stay
 * with the origin that they are for: after a redirect to another one the request has neither `Authorization` nor headers
 * of the host's file nor a client's certificate, and from https no redirect leads to http.
 *
 * @module
 */
import {
  Agent as HttpAgent,
  type IncomingMessage,
  request as requestPlainly,
  type RequestOptions,
} from 'node:http';
import { Agent as HttpsAgent, request as requestSecurely } from 'node:https';
import { readFile } from 'node:fs/promises';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import {
  connect as connectTls,
  type ConnectionOptions,
  createSecureContext,
  rootCertificates,
  type SecureContext,
} from 'node:tls';
import { abortable } from '#base/async/abortable.js';
import { withinTime } from '#base/async/within-time.js';
import { messageOf } from '#base/errors/errors.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { type Clock, type ClockTimer } from '#base/time/clock.js';
import { findProxy, type ProxyAddress } from '#base/wire/find-proxy.js';
import { toHttpEndpoint } from '#base/wire/http-endpoint.js';
import { joinHostPort } from '#base/wire/join-host-port.js';
import { openTunnel } from '#base/wire/open-tunnel.js';
import { untilReady } from '#base/wire/until-ready.js';
import { type HostTls } from './registry-hosts.js';

/** Variables such as `HTTPS_PROXY`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A request to a registry, or to a server that gives tokens. */
export interface RegistryRequest {
  readonly url: string;
  readonly method: 'GET' | 'HEAD' | 'POST';
  /** Names in lower case. They go wherever redirects lead. */
  readonly headers: Readonly<Record<string, string>>;
  /** Headers for the origin of `url` alone. */
  readonly secretHeaders?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly tls: HostTls;
  readonly dialTimeoutMs?: number | undefined;
  readonly signal: AbortSignal;
}

/** The head of an answer, and its body. */
export interface RegistryAnswer {
  readonly status: number;
  /** `404 Not Found` */
  readonly statusText: string;
  /** The first one of a name, in lower case. */
  header(name: string): string | undefined;
  /** Where it came from, after redirects. */
  readonly origin: string;
  /** The body as it comes. Throws when it stops coming; closes the connection when the reader leaves early. */
  pieces(): AsyncGenerator<Buffer>;
  /** The whole body as text. Throws when it is longer than `mostBytes`. */
  text(mostBytes: number): Promise<string>;
  /** To be called when the body is of no interest. */
  discard(): void;
}

/** The other side, or the way to it, has failed. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';

  /** Whether the next moment may be better: not where nothing listens, or a certificate is wrong. */
  get isTransient(): boolean {
    return this.#code === '' || TRANSIENT.has(this.#code);
  }

  /** Whether nothing came within a limit: to wait for it again and again would take long. */
  get isMute(): boolean {
    return this.#code === 'ETIMEDOUT';
  }

  /** Whether the other side seems to speak no TLS. */
  get isWithoutTls(): boolean {
    return /^(EPROTO|ECONNRESET|EPIPE|ERR_SSL_WRONG_VERSION_NUMBER)$/.test(this.#code);
  }

  get #code(): string {
    // A proxy's, which says of its own what went wrong.
    if (this.cause instanceof ConnectionError) return this.cause.#code;
    const { errors } = (this.cause ?? {}) as { readonly errors?: readonly unknown[] };
    return systemCodeOf(errors?.[0] ?? this.cause);
  }
}

/** The cause of an error of a limit in time: the kernel's own has the same code. */
const TIMED_OUT = { cause: { code: 'ETIMEDOUT' } };
const TRANSIENT = new Set(['ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EAI_AGAIN', 'HPE_INVALID_EOF_STATE']);

const DIAL_TIMEOUT_MS = 30_000;
const HEAD_TIMEOUT_MS = 60_000;
/** In each stretch of this length at least that many bytes have to come. */
const STRETCH_MS = 60_000;
export const LEAST_BYTES = 16 * 1024;
/** For all of a document. */
const TEXT_TIMEOUT_MS = 300_000;
/** For the rest of an answer that nobody reads. */
const DISCARD_TIMEOUT_MS = 5_000;
const MAX_REDIRECTS = 5;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** Where distributions keep the authorities of a machine: the first one that is there counts, as with Go's programs. */
const AUTHORITY_FILES = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem',
  '/etc/ssl/cert.pem',
];

/** An answer, and the request that it is to. */
type Response = IncomingMessage & { readonly req: { readonly method?: string } };

/** Sends requests; keeps connections for a moment, by how TLS is spoken. */
export class RegistryHttp {
  readonly #clock: Clock;
  readonly #environment: Environment;
  readonly #agents = new Map<string, HttpAgent>();
  /** With the machine's authorities, which are hundreds: read once for each way to speak TLS. */
  readonly #contexts = new Map<string, SecureContext>();
  #authorities: Promise<readonly string[]> | undefined;

  constructor({ clock, environment }: { readonly clock: Clock; readonly environment: Environment }) {
    this.#clock = clock;
    this.#environment = environment;
  }

  /** Throws {@link ConnectionError}, an Error for an answer that leads nowhere, or the signal's reason. */
  async send(request: RegistryRequest): Promise<RegistryAnswer> {
    const origin = originOf(request.url);
    let { url, method, body } = request;
    for (let redirects = 0; ; redirects++) {
      const isHome = originOf(url) === origin;
      const response = await this.#exchange(request, { url, method, body, isHome });
      const { statusCode = 0 } = response;
      const location = response.headers.location;
      if (!REDIRECTS.has(statusCode) || location === undefined)
        return this.#toAnswer(response, url, request.signal);
      response.destroy();
      if (redirects === MAX_REDIRECTS) throw new Error(`${hostOf(request.url)} redirects over and over`);
      const next = URL.canParse(location, url) ? new URL(location, url) : undefined;
      if (next === undefined || !/^https?:$/.test(next.protocol))
        throw new Error(`${hostOf(url)} redirects to something that is no address`);
      if (url.startsWith('https:') && next.protocol === 'http:')
        throw new Error(`${hostOf(url)} redirects from https to http, to ${next.host}`);
      if (body !== undefined && next.origin !== origin)
        throw new Error(`${hostOf(url)} redirects a login to ${next.host}`);
      next.username = next.password = '';
      url = next.href;
      if (statusCode !== 307 && statusCode !== 308 && method === 'POST') [method, body] = ['GET', undefined];
    }
  }

  /** Ends connections that nobody uses. */
  close(): void {
    for (const agent of this.#agents.values()) agent.destroy();
    this.#agents.clear();
    this.#contexts.clear();
  }

  async #exchange(
    request: RegistryRequest,
    hop: { url: string; method: string; body: string | undefined; isHome: boolean },
  ): Promise<Response> {
    const { signal, dialTimeoutMs = DIAL_TIMEOUT_MS } = request;
    const url = new URL(hop.url);
    const headers = {
      'user-agent': 'podloop',
      ...request.headers,
      ...(hop.isHome && request.secretHeaders),
      ...(hop.body !== undefined && {
        'content-type': 'application/x-www-form-urlencoded',
        'content-length': String(Buffer.byteLength(hop.body)),
      }),
    };
    try {
      const proxy = findProxy(url, this.#environment);
      const hostTls = hop.isHome ? request.tls : { ...request.tls, clients: [] };
      const tls = await this.#toTls(hostTls);
      const limitMs = dialTimeoutMs + HEAD_TIMEOUT_MS;
      const late = (): Error => new ConnectionError(`no answer within ${limitMs / 1_000}s`, TIMED_OUT);
      const limits = { clock: this.#clock, limitMs, late, signal };
      return await withinTime(limits, async (inner) => {
        const way =
          proxy && (await this.#connectThrough(proxy, url, { hostTls, tls, dialTimeoutMs, signal: inner }));
        const options: RequestOptions = {
          ...{ method: hop.method, headers: { ...headers, ...way?.headers }, signal: inner },
          ...(way?.options ?? { agent: this.#agentFor(url.protocol, hostTls, tls) }),
        };
        const sent = (url.protocol === 'http:' ? requestPlainly : requestSecurely)(url, options);
        const endAfter = (mostMs: number, what: string): ClockTimer =>
          this.#clock.setTimer(
            mostMs,
            () => sent.destroy(new ConnectionError(`${what} within ${mostMs / 1_000}s`, TIMED_OUT)),
            { unref: true },
          );
        let limit = endAfter(dialTimeoutMs, 'not connected');
        let isOver = false;
        const end = (): void => {
          isOver = true;
          limit.cancel();
        };
        sent.once('finish', () => {
          // Who answers before the question was sent is not waited for.
          if (isOver) return;
          limit.cancel();
          limit = endAfter(HEAD_TIMEOUT_MS, 'no answer');
        });
        sent.once('close', end);
        sent.end(hop.body);
        return await new Promise<Response>((resolve, reject) => {
          sent.once('response', (response) => {
            end();
            resolve(Object.assign(response, { req: sent }));
          });
          // It stays: a connection that breaks later is heard of by the reader of the body.
          sent.on('error', reject);
        });
      });
    } catch (error) {
      signal.throwIfAborted();
      throw new ConnectionError(`${url.host}: ${explain(error)}`, { cause: error });
    }
  }

  /** A connection for one request. Without TLS the proxy sends it on itself: many connect to no port but that of TLS. */
  async #connectThrough(
    proxy: ProxyAddress,
    url: URL,
    want: {
      readonly hostTls: HostTls;
      readonly tls: ConnectionOptions;
      readonly dialTimeoutMs: number;
      readonly signal: AbortSignal;
    },
  ): Promise<{ readonly options: RequestOptions; readonly headers: Readonly<Record<string, string>> }> {
    const late = (): Error => new ConnectionError(`the proxy ${joinHostPort(proxy)} does not connect`);
    const limits = { clock: this.#clock, limitMs: want.dialTimeoutMs, late, signal: want.signal };
    return await withinTime(limits, async (signal) => {
      const { host, port } = proxy;
      const isPlain = proxy.protocol === 'http:';
      const tls = await this.#toTls({ ...want.hostTls, clients: [], skipVerify: false });
      const below: Socket = isPlain
        ? connectTcp({ host, port })
        : connectTls({ host, port, ...tls, servername: toServerName(host) });
      await untilUp(below, isPlain ? 'connect' : 'secureConnect', signal).catch((error: unknown) => {
        signal.throwIfAborted();
        throw new ConnectionError(`the proxy ${joinHostPort(proxy)}: ${explain(error)}`, { cause: error });
      });
      if (url.protocol === 'http:') {
        const { authorization } = proxy;
        const headers: Record<string, string> = {};
        if (authorization !== undefined) headers['proxy-authorization'] = authorization;
        return { options: { path: url.href, createConnection: () => below }, headers };
      }
      const target = toHttpEndpoint(url);
      const socket = await openTunnel(below, proxy, joinHostPort(target), signal);
      const secure = connectTls({ ...want.tls, socket, servername: toServerName(target.host) });
      await untilUp(secure, 'secureConnect', signal);
      return { options: { createConnection: () => secure }, headers: {} };
    });
  }

  #agentFor(protocol: string, hostTls: HostTls, tls: ConnectionOptions): HttpAgent {
    const isPlain = protocol === 'http:';
    const key = isPlain ? '' : JSON.stringify(hostTls);
    let agent = this.#agents.get(key);
    const common = { keepAlive: true, keepAliveMsecs: 30_000, timeout: IDLE_CONNECTION_MS };
    agent ??= isPlain ? new HttpAgent(common) : new HttpsAgent({ ...common, ...tls });
    this.#agents.set(key, agent);
    return agent;
  }

  async #toTls({ authorities, clients, skipVerify }: HostTls): Promise<ConnectionOptions> {
    this.#authorities ??= readAuthorities(this.#environment);
    const known = await this.#authorities;
    const key = JSON.stringify([authorities, clients]);
    const secureContext =
      this.#contexts.get(key) ??
      createSecureContext({
        ca: [...known, ...authorities],
        ...(clients.length > 0 && {
          cert: clients.map(({ cert }) => cert),
          key: clients.map((client) => client.key),
        }),
      });
    this.#contexts.set(key, secureContext);
    return { secureContext, rejectUnauthorized: !skipVerify };
  }

  #toAnswer(response: Response, url: string, signal: AbortSignal): RegistryAnswer {
    const { statusCode: status = 0, statusMessage = '' } = response;
    const host = hostOf(url);
    // Else a connection that breaks while nobody reads would end the process.
    response.on('error', () => undefined);
    const pieces = (stop: AbortSignal): AsyncGenerator<Buffer> =>
      readPieces(response, { clock: this.#clock, host, signal: stop });
    return {
      status,
      statusText: `${status} ${statusMessage.slice(0, 100)}`.trimEnd(),
      origin: originOf(url),
      header(name) {
        const value = response.headers[name];
        return Array.isArray(value) ? value[0] : value;
      },
      pieces: () => pieces(signal),
      text: (mostBytes) => this.#readText(pieces, { host, signal }, mostBytes),
      // A short rest is read, for the connection's sake; what is long would take longer than another connection.
      discard: () => {
        if (isLong(response)) {
          response.destroy();
          return;
        }
        const limit = this.#clock.setTimer(DISCARD_TIMEOUT_MS, () => response.destroy(), { unref: true });
        response.once('close', () => limit.cancel());
        response.resume();
      },
    };
  }

  /** A document of few bytes must not come for hours, either. */
  async #readText(
    pieces: (signal: AbortSignal) => AsyncGenerator<Buffer>,
    { host, signal }: { readonly host: string; readonly signal: AbortSignal },
    mostBytes: number,
  ): Promise<string> {
    const late = (): Error =>
      new ConnectionError(`${host}: no whole answer within ${TEXT_TIMEOUT_MS / 1_000}s`, TIMED_OUT);
    const limits = { clock: this.#clock, limitMs: TEXT_TIMEOUT_MS, late, signal };
    return await withinTime(limits, async (inner) => {
      const parts: Buffer[] = [];
      let bytes = 0;
      for await (const piece of pieces(inner)) {
        bytes += piece.length;
        if (bytes > mostBytes) throw new Error(`${host} answers with more than ${mostBytes} bytes`);
        parts.push(piece);
      }
      return Buffer.concat(parts).toString('utf8');
    });
  }
}

const SHORT_BYTES = 64 * 1024;

function isLong({ headers, req }: Response): boolean {
  return req.method !== 'HEAD' && !(Number(headers['content-length'] ?? Infinity) <= SHORT_BYTES);
}

/** A connection that nobody used for so long may be broken without a word. */
const IDLE_CONNECTION_MS = 15_000;

/**
 * The body, with a limit for each stretch of it. The reader's own pace does not count: time runs while the other side is
 * waited for.
 */
async function* readPieces(
  response: IncomingMessage,
  { clock, host, signal }: { readonly clock: Clock; readonly host: string; readonly signal: AbortSignal },
): AsyncGenerator<Buffer> {
  const chunks = (response as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  let [waitedMs, bytes] = [0, 0];
  const late = (): Error =>
    new ConnectionError(`${host}: sent ${bytes} bytes in ${STRETCH_MS / 1_000}s, which is too slow`);
  try {
    for (;;) {
      const beganMs = clock.monotonicMs();
      const limits = { clock, limitMs: STRETCH_MS - waitedMs, late, signal };
      const next = await withinTime(limits, (inner) => abortable(chunks.next(), inner));
      if (next.done === true) break;
      bytes += next.value.length;
      waitedMs += clock.monotonicMs() - beganMs;
      if (bytes >= LEAST_BYTES) [waitedMs, bytes] = [0, 0];
      else if (waitedMs >= STRETCH_MS) throw late();
      yield next.value;
    }
    if (!response.complete) throw new ConnectionError(`${host}: the connection broke`);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ConnectionError) throw error;
    throw new ConnectionError(`${host}: ${explain(error)}`, { cause: error });
  } finally {
    if (!response.complete) response.destroy();
  }
}

async function untilUp(socket: Socket, event: string, signal: AbortSignal): Promise<void> {
  await untilReady(socket, signal, (resolve, reject) => {
    // Both stay: a connection that breaks before it is used is no reason to end the process.
    socket.on('error', reject);
    socket.once('close', () => reject(new Error('the connection broke')));
    socket.once(event, resolve);
  });
}

/** The machine's own, and those that Node brings. */
async function readAuthorities({ SSL_CERT_FILE: chosen }: Environment): Promise<readonly string[]> {
  for (const file of chosen === undefined ? AUTHORITY_FILES : [chosen]) {
    const text = await readFile(file, 'utf8').catch(() => undefined);
    if (text !== undefined) return [...rootCertificates, text];
  }
  return rootCertificates;
}

/** What went wrong, for people. */
function explain(error: unknown): string {
  switch (systemCodeOf(error)) {
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `its address is not found (${systemCodeOf(error)})`;
    case 'ECONNREFUSED':
      return 'nothing listens there (ECONNREFUSED)';
    case 'EPROTO':
    case 'ERR_SSL_WRONG_VERSION_NUMBER':
      return `it does not speak TLS as was expected (${systemCodeOf(error)})`;
    case 'ECONNRESET':
    case 'EPIPE':
      return `the connection broke (${systemCodeOf(error)})`;
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
      return `its certificate is of an authority that is not known here (${systemCodeOf(error)})`;
    case 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED':
      return `it wants a certificate of its clients (${systemCodeOf(error)})`;
  }
  const { errors } = error as { readonly errors?: readonly unknown[] };
  // One for each address that was tried.
  return Array.isArray(errors) && errors.length > 0 ? explain(errors[0]) : messageOf(error);
}

/** Scheme, host and port. */
function originOf(url: string): string {
  return new URL(url).origin;
}

function hostOf(url: string): string {
  return new URL(url).host;
}

/** An address is no name that could be asked for. */
function toServerName(host: string): string {
  return isIP(host) === 0 ? host : '';
}
