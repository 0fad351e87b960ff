import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import {
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from 'node:http2';
import { createServer as createHttpsServer, type Server as HttpsServer } from 'node:https';
import { type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TLSSocket } from 'node:tls';
import { type CertificatePair, makeCertificate } from '../../../src/node/api/tls/make-certificate.js';

/** One request as it came. */
export interface LabRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
  readonly httpVersion: string;
  /** Of the client's certificate; empty when it has none. */
  readonly user: string;
  /** Counts connections from 1. */
  readonly connection: number;
}

/** How the server answers. */
export type LabHandler = (request: LabRequest, response: Http2ServerResponse) => void;

/** What {@link KubeApiHarness.open} takes. */
export interface HarnessOptions {
  /** `false`: HTTP/1.1 alone, as behind some load balancers. */
  readonly http2?: boolean;
  /** How many requests it takes at once over one connection of HTTP/2. */
  readonly maxStreams?: number;
}

const HOUR_MS = 3_600_000;

/** An HTTPS server in place of an API server, with real certificates in a folder of its own; a test says what it answers. */
export class KubeApiHarness implements AsyncDisposable {
  readonly folder: string;
  readonly requests: LabRequest[] = [];
  handler: LabHandler = (_, response) => void response.end('{}');
  readonly #server: Http2SecureServer | HttpsServer;
  readonly #authority: CertificatePair;
  readonly #sockets = new Set<Socket>();
  readonly #numbers = new WeakMap<object, number>();
  #connections = 0;

  static async open({ http2 = true, maxStreams = 100 }: HarnessOptions = {}): Promise<KubeApiHarness> {
    const folder = await mkdtemp(join(tmpdir(), 'podloop-kube-api-'));
    const authority = await makeCertificate({ commonName: 'lab', purpose: 'authority', ...lifetime() });
    const pair = await makeCertificate({
      ...{
        commonName: 'kube-apiserver',
        purpose: 'server',
        hosts: ['127.0.0.1', 'api.lab'],
        issuer: authority,
      },
      ...lifetime(),
    });
    const asked = { ...pair, ca: authority.cert, requestCert: true, rejectUnauthorized: false };
    const server = http2
      ? createSecureServer({ ...asked, settings: { maxConcurrentStreams: maxStreams } })
      : createHttpsServer(asked);
    const lab = new KubeApiHarness(folder, server, authority);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    await writeFile(lab.file('ca.crt'), authority.cert);
    return lab;
  }

  private constructor(folder: string, server: Http2SecureServer | HttpsServer, authority: CertificatePair) {
    this.folder = folder;
    this.#server = server;
    this.#authority = authority;
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
      socket.on('error', () => undefined);
    });
    server.on('secureConnection', (socket: TLSSocket) => this.#numbers.set(socket, ++this.#connections));
    server.on('sessionError', () => undefined);
    // Both kinds of requests are read and answered alike.
    server.on('request', (request: unknown, response: unknown) => {
      void this.#answer(request as Http2ServerRequest, response as Http2ServerResponse);
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** How many connections were made so far. */
  get connections(): number {
    return this.#connections;
  }

  file(name: string): string {
    return join(this.folder, name);
  }

  /** A client's certificate and key in files `<name>.crt` and `<name>.key`. */
  async writeClientPair(name: string, commonName: string, organization = 'system:nodes'): Promise<void> {
    const issuer = this.#authority;
    const facts = { commonName, organization, purpose: 'client', issuer, ...lifetime() } as const;
    const { cert, key } = await makeCertificate(facts);
    await writeFile(this.file(`${name}.crt`), cert);
    await writeFile(this.file(`${name}.key`), key);
  }

  /** A certificate and key of another server, of the same authority. */
  async makeServerPair(host: string): Promise<CertificatePair> {
    const issuer = this.#authority;
    return await makeCertificate({
      commonName: host,
      purpose: 'server',
      hosts: [host],
      issuer,
      ...lifetime(),
    });
  }

  /** Writes a kubeconfig for this server; `user` is YAML in one line. Returns its path. */
  async writeKubeconfig(user = '{}', cluster = 'certificate-authority: ca.crt'): Promise<string> {
    const file = this.file('kubeconfig');
    const text = `apiVersion: v1
kind: Config
current-context: lab
contexts: [{ name: lab, context: { cluster: lab, user: lab } }]
clusters: [{ name: lab, cluster: { server: "https://127.0.0.1:${this.port}", ${cluster} } }]
users: [{ name: lab, user: ${user} }]
`;
    await writeFile(file, text);
    return file;
  }

  /** Breaks every connection without a word. */
  breakConnections(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.breakConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    await rm(this.folder, { recursive: true, force: true });
  }

  async #answer(request: Http2ServerRequest, response: Http2ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    response.on('error', () => undefined);
    try {
      for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    } catch {
      return;
    }
    const socket = ((request as Partial<Http2ServerRequest>).stream?.session?.socket ??
      request.socket) as TLSSocket;
    const subject = socket.getPeerCertificate().subject as { CN?: string } | undefined;
    const told: LabRequest = {
      ...{ method: request.method, path: request.url, headers: request.headers, user: subject?.CN ?? '' },
      ...{ body: Buffer.concat(chunks).toString('utf8'), httpVersion: request.httpVersion },
      connection: this.#numbers.get(socket) ?? this.#connections,
    };
    this.requests.push(told);
    this.handler(told, response);
  }
}

function lifetime(): { validFrom: Date; validTo: Date } {
  return { validFrom: new Date(Date.now() - HOUR_MS), validTo: new Date(Date.now() + HOUR_MS) };
}
