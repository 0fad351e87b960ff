import { once } from 'node:events';
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { findFreePort, RawClient } from '#support/clients/tcp-client.js';
import { untilAborted } from '#base/async/until-aborted.js';
import { ApiError } from './api-error.js';
import { ApiRouter } from './api-router.js';
import { ApiServer, type ApiServerOptions } from './api-server.js';
import { type CertificatePair, makeCertificate } from '../tls/make-certificate.js';

const HOUR_MS = 3_600_000;
/** On a loaded machine, too. */
const SOON = { timeout: 20_000 };

let clock: FakeClock;
let port: number;
let server: ApiServer;
let own: CertificatePair;
let [authority, other]: CertificatePair[] = [];
let jane: CertificatePair;
let release: () => void;

async function make(
  commonName: string,
  purpose: 'server' | 'client' | 'authority',
  issuer?: CertificatePair,
): Promise<CertificatePair> {
  const now = Date.now();
  const times = { validFrom: new Date(now - HOUR_MS), validTo: new Date(now + HOUR_MS) };
  return makeCertificate({ commonName, purpose, ...times, ...(issuer === undefined ? {} : { issuer }) });
}

/** Lets those in whom a certificate names. */
async function start(options: Partial<ApiServerOptions> = {}): Promise<void> {
  const router = new ApiRouter();
  const released = new Promise<void>((resolve) => (release = resolve));
  router.answer('GET', '/who', () => ({ kind: 'text', body: 'you' }));
  router.answer('GET', '/held', async () => {
    await released;
    return { kind: 'text', body: 'held' };
  });
  router.answer('GET', '/endless', ({ signal }) => ({
    ...{ kind: 'stream', contentType: 'text/plain' },
    pieces: (async function* () {
      yield 'first';
      await untilAborted(signal);
    })(),
  }));
  server = new ApiServer({
    ...{ clock, router, name: 'readwrite' },
    authorize: (_, { certificate }) =>
      certificate?.name === 'jane' ? undefined : new ApiError('Unauthorized', 'Unauthorized'),
    tls: { ...own, ca: authority!.cert, requestCert: true, rejectUnauthorized: false },
    ...options,
  });
  port = await findFreePort();
  await server.listenAtPort('127.0.0.1', port);
}

/** A connection that is kept. */
class KeptClient implements Disposable {
  readonly socket: TLSSocket;
  readonly closed: Promise<unknown>;
  session: Buffer | undefined;
  #got = '';

  static async open(tls: ConnectionOptions = {}): Promise<KeptClient> {
    const client = new KeptClient(tls);
    await once(client.socket, 'secureConnect');
    return client;
  }

  private constructor(tls: ConnectionOptions) {
    this.socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false, ...tls });
    this.socket.on('error', () => undefined);
    this.socket.on('data', (data: Buffer) => (this.#got += data.toString()));
    this.socket.on('session', (session: Buffer) => (this.session = session));
    this.closed = new Promise((resolve) => this.socket.once('close', resolve));
  }

  get got(): string {
    return this.#got;
  }

  send(path: string): void {
    this.#got = '';
    this.socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  }

  /** The code of the answer; undefined when the connection was closed instead. */
  async ask(path = '/who'): Promise<string | undefined> {
    this.send(path);
    const answered = async (): Promise<void> => {
      while (!this.#got.includes('\r\n\r\n')) await once(this.socket, 'data');
    };
    await Promise.race([answered().catch(() => undefined), this.closed]);
    return /^HTTP\/1.1 (\d+)/.exec(this.#got)?.[1];
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }
}

beforeEach(async () => {
  clock = new FakeClock({ nowMs: Date.now() });
  own = await make('node', 'server');
  [authority, other] = [await make('one', 'authority'), await make('another', 'authority')];
  jane = await make('jane', 'client', authority);
});
afterEach(async () => {
  release();
  await server.close();
});

describe('a connection that a certificate has opened', () => {
  it('lets nobody in once the certificate has ended, nor does a session that is taken up again', async () => {
    await start();
    using client = await KeptClient.open(jane);
    expect(await client.ask()).toBe('200');
    await expect.poll(() => client.session, SOON).toBeDefined();
    await clock.advance(HOUR_MS + 1_000);
    expect(await client.ask()).toBe('401');
    await client.closed;
    using again = await KeptClient.open({ ...jane, session: client.session! });
    expect([again.socket.isSessionReused(), await again.ask()]).toEqual([true, '401']);
  });

  it('is closed when other authorities vouch for clients, and a client that comes again is checked again', async () => {
    await start();
    using idle = await KeptClient.open(jane);
    expect(await idle.ask()).toBe('200');
    using busy = await KeptClient.open(jane);
    busy.send('/held');
    using silent = await KeptClient.open(jane);
    await expect.poll(() => idle.session, SOON).toBeDefined();
    server.setSecureContext({ ...own, ca: other!.cert });
    await idle.closed;
    // It was let in before.
    release();
    await busy.closed;
    expect(busy.got).toContain('held');
    expect(await silent.ask()).toBeUndefined();
    using again = await KeptClient.open({ ...jane, session: idle.session! });
    expect([again.socket.isSessionReused(), await again.ask()]).toEqual([false, '401']);
    using known = await KeptClient.open(await make('jane', 'client', other));
    expect(await known.ask()).toBe('200');
  });

  it('stays when the server has another certificate, and what runs on it goes on', async () => {
    await start();
    using client = await KeptClient.open(jane);
    using stream = await KeptClient.open(jane);
    expect([await client.ask(), await stream.ask('/endless')]).toEqual(['200', '200']);
    server.setSecureContext({ ...(await make('node', 'server')), ca: authority!.cert });
    expect(await client.ask()).toBe('200');
    server.setSecureContext({ ...own, ca: other!.cert });
    await client.closed;
    expect(stream.socket.destroyed).toBe(false);
  });

  it('is nobody’s when a session without one is taken up again', async () => {
    await start();
    using first = await KeptClient.open();
    expect(await first.ask()).toBe('401');
    await expect.poll(() => first.session, SOON).toBeDefined();
    using again = await KeptClient.open({ session: first.session! });
    expect([again.socket.isSessionReused(), await again.ask()]).toEqual([true, '401']);
  });
});

it('strangers with many idle connections keep nobody out who has a certificate', async () => {
  await start({ maxStrangers: 2 });
  using waiting = await KeptClient.open(jane);
  using refused = await KeptClient.open();
  expect(await refused.ask()).toBe('401');
  const idle = Array.from({ length: 20 }, () => new RawClient(port));
  await refused.closed;
  await Promise.all(idle.slice(0, 18).map(async ({ closed }) => closed));
  using late = await KeptClient.open(jane);
  expect([await waiting.ask(), await late.ask()]).toEqual(['200', '200']);
  for (const client of idle) client[Symbol.dispose]();
});
