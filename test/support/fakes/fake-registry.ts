import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import { type AddressInfo } from 'node:net';
import { type BlobRef, OciLayout } from './oci-layout.js';

/** A fault, or an answer of another kind: returns true when it has answered, or will. */
export type Answerer = (request: IncomingMessage, response: ServerResponse) => boolean;

/** What a registry asks of its clients. */
export interface FakeRegistryOptions {
  /** `name:password`, asked for at each request, … */
  readonly basic?: string;
  /** … or for a token, which this registry gives itself; no login: anybody gets one. */
  readonly token?: { readonly login?: string };
  readonly tls?: ServerOptions;
}

/**
 * A registry in this process: serves images of a layout over HTTP by the distribution protocol, with ranges, and answers
 * as a test says.
 */
export class FakeRegistry implements AsyncDisposable {
  readonly layout = new OciLayout();
  /** `GET /v2/app/manifests/1`, in the order in which they came. */
  readonly requests: string[] = [];
  /** Headers of the same. */
  readonly headers: IncomingMessage['headers'][] = [];
  /** Asked in order before the registry itself answers. */
  readonly answerers: Answerer[] = [];
  readonly #tags = new Map<string, BlobRef>();
  readonly #server: Server;
  readonly #options: FakeRegistryOptions;

  private constructor(options: FakeRegistryOptions) {
    this.#options = options;
    const listener = (request: IncomingMessage, response: ServerResponse): void =>
      this.#answer(request, response);
    this.#server =
      options.tls === undefined ? createServer(listener) : createTlsServer(options.tls, listener);
  }

  static async start(options: FakeRegistryOptions = {}): Promise<FakeRegistry> {
    const registry = new FakeRegistry(options);
    await new Promise<void>((resolve) => registry.#server.listen(0, '127.0.0.1', resolve));
    return registry;
  }

  /** `127.0.0.1:12345` */
  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get url(): string {
    return `${this.#options.tls === undefined ? 'http' : 'https'}://${this.host}`;
  }

  /** Gives a manifest or an index a name: `app:1`. */
  tag(name: string, target: BlobRef): void {
    this.#tags.set(name, target);
  }

  /** How many requests there were for what has this in its path. */
  count(part: string): number {
    return this.requests.filter((request) => request.includes(part)).length;
  }

  /** Those of requests that are not answered in full, too. */
  breakConnections(): void {
    this.#server.closeAllConnections();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.breakConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { method = '', url = '' } = request;
    this.requests.push(`${method} ${url}`);
    this.headers.push(request.headers);
    response.on('error', () => undefined);
    for (const answer of this.answerers) if (answer(request, response)) return;
    if (url.startsWith('/token')) {
      this.#giveToken(request, response);
      return;
    }
    if (!this.#isWelcome(request)) {
      this.#challenge(response);
      return;
    }
    const [, name = '', kind, reference = ''] = /^\/v2\/(.+)\/(manifests|blobs)\/([^/?]+)/.exec(url) ?? [];
    const target = kind === 'manifests' ? this.#tags.get(`${name}:${reference}`) : undefined;
    const content = this.layout.toFiles().get(`blobs/${(target?.digest ?? reference).replace(':', '/')}`);
    if (content === undefined) {
      response.writeHead(404, { 'content-type': 'application/json' });
      response.end('{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}');
      return;
    }
    if (kind === 'blobs') {
      sendRange(content, request, response);
      return;
    }
    const { mediaType } = JSON.parse(content.toString('utf8')) as { mediaType?: string };
    response.writeHead(200, {
      'content-type': target?.mediaType ?? mediaType ?? 'application/octet-stream',
      'content-length': content.length,
      'docker-content-digest': target?.digest ?? reference,
    });
    response.end(method === 'HEAD' ? undefined : content);
  }

  #isWelcome({ headers: { authorization } }: IncomingMessage): boolean {
    const { basic, token } = this.#options;
    if (basic !== undefined) return authorization === toBasic(basic);
    return token === undefined || authorization === 'Bearer good';
  }

  #challenge(response: ServerResponse): void {
    const { basic } = this.#options;
    const bearer = `Bearer realm="${this.url}/token",service="fake",scope="repository:app:pull"`;
    response.writeHead(401, {
      'content-type': 'application/json',
      'www-authenticate': basic === undefined ? bearer : 'Basic realm="fake"',
    });
    response.end('{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}');
  }

  #giveToken({ headers: { authorization } }: IncomingMessage, response: ServerResponse): void {
    const login = this.#options.token?.login;
    const isWelcome = login === undefined || authorization === toBasic(login);
    response.writeHead(isWelcome ? 200 : 401, { 'content-type': 'application/json' });
    response.end(isWelcome ? '{"token":"good","expires_in":60}' : '{}');
  }
}

function sendRange(content: Buffer, { headers: { range } }: IncomingMessage, response: ServerResponse): void {
  const from = Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0);
  const isPart = range !== undefined;
  response.writeHead(isPart ? 206 : 200, {
    'content-length': content.length - from,
    ...(isPart && { 'content-range': `bytes ${from}-${content.length - 1}/${content.length}` }),
  });
  response.end(content.subarray(from));
}

function toBasic(login: string): string {
  return `Basic ${Buffer.from(login).toString('base64')}`;
}
