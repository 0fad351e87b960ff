import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ApiRouter } from '../http/api-router.js';
import { healthHandlers } from '../node/health.js';
import { type CertificatePair, makeCertificate } from '../tls/make-certificate.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { askPort, findFreePort, type PortAnswer, RawClient } from '#support/clients/tcp-client.js';
import { SystemClock } from '#base/time/clock.js';
import { settlesWithin } from '#base/async/settles-within.js';
import { AgentServers } from './agent-servers.js';
import { type GivenAgentOptions, resolveAgentOptions } from '../../options/resolve-agent-options.js';

const TIMES = { validFrom: new Date(Date.now() - 3_600_000), validTo: new Date(Date.now() + 3_600_000) };
const TOKEN = 'a-t0ken';
let folder: string;
let port: number;
let names: readonly string[];
let logger: LogRecorder;
let servers: AgentServers | undefined;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-tls-'));
  await writeFile(join(folder, 'tokens'), `${TOKEN},ops,1\n`, { mode: 0o600 });
  port = await findFreePort();
  names = ['node-1'];
  logger = new LogRecorder();
});
afterEach(async () => {
  await servers?.close();
  servers = undefined;
  await rm(folder, { recursive: true });
});

async function start(given: GivenAgentOptions = { tokenAuthFile: join(folder, 'tokens') }): Promise<void> {
  const router = new ApiRouter();
  const answer = (path: string): void =>
    router.answer('GET', path, () => ({ kind: 'text', body: `at ${path}` }));
  for (const path of ['/healthz', '/livez/ping', '/metrics', '/pods', '/logs/*', '/containerLogs/:a/:b/:c'])
    answer(path);
  answer('/api/v1/namespaces/:namespace/pods/:name/log');
  const sick = { healthz: [], livez: [], readyz: [{ name: 'disk', findProblem: () => 'it is full' }] };
  router.answer('GET', '/readyz', healthHandlers(sick, true).get('/readyz')!);
  const well = [{ name: 'ping', findProblem: () => undefined }];
  servers = await AgentServers.start({
    ...{
      clock: new SystemClock(),
      logger,
      nodeNames: () => names,
      router,
      rootDir: folder,
      pages: new Map(),
    },
    options: resolveAgentOptions({ port, readOnlyPort: 0, ...given }),
    checks: { healthz: well, livez: well, readyz: well },
  });
}

async function ask(path: string, token?: string, tls: object = {}, method = 'GET'): Promise<PortAnswer> {
  const headers = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  return askPort(port, path, { headers, tls, method });
}

describe('the port with TLS', () => {
  it('shows who has a token everything, and who has none health', async () => {
    await start();
    expect(await ask('/metrics', TOKEN)).toMatchObject({ code: 200, text: 'at /metrics' });
    expect(await ask('/pods', TOKEN)).toMatchObject({ code: 200 });
    expect(await ask('/healthz')).toMatchObject({ code: 200 });
    expect(await ask('/livez/ping')).toMatchObject({ code: 200 });
    for (const [path, words] of [
      ['/metrics', '[metrics]'],
      ['/pods', '[pods proxy]'],
      ['/logs/', '[log]'],
      ['/api/v1/namespaces/a/pods/b/log', '[proxy]'],
      ['/healthzz', '[proxy]'],
      ['/nothing', '[proxy]'],
    ]) {
      const { code, text } = await ask(path!);
      expect([code, text]).toEqual([
        403,
        expect.stringContaining(
          `Forbidden (user=system:anonymous, verb=get, resource=nodes, subresource(s)=${words})`,
        ),
      ]);
    }
  });

  it('keeps the reasons of what is not well for those who show who they are', async () => {
    await start();
    const [known, unknown] = [await ask('/readyz', TOKEN), await ask('/readyz')];
    expect([known.code, known.text]).toEqual([500, '[-]disk failed: it is full\nreadyz check failed\n']);
    expect([unknown.code, unknown.text]).toEqual([
      500,
      '[-]disk failed: reason withheld\nreadyz check failed\n',
    ]);
  });

  it('answers 401 to a token that nobody has, whatever is asked for', async () => {
    await start();
    for (const token of ['other', `${TOKEN}x`, TOKEN.toUpperCase(), '']) {
      expect(await ask('/metrics', token)).toMatchObject({ code: 401, text: 'Unauthorized\n' });
      expect((await ask('/healthz', token)).code).toBe(401);
    }
    const basic = { Authorization: `Basic ${Buffer.from(`ops:${TOKEN}`).toString('base64')}` };
    expect((await askPort(port, '/metrics', { headers: basic, tls: {} })).code).toBe(401);
    const page = { Authorization: `Bearer ${TOKEN}`, Origin: 'https://evil.example' };
    expect((await askPort(port, '/metrics', { headers: page, tls: {} })).code).toBe(403);
  });

  it('shows nobody health who shows nothing, where that is wanted, and says when nobody can show anything', async () => {
    await start({ anonymousAuth: false });
    expect(await ask('/healthz')).toMatchObject({ code: 401 });
    expect(logger.complaints).toMatchObject([
      { level: 'warn', message: expect.stringContaining('Only health') as string },
    ]);
  });

  it('is on this machine alone, and in a cluster at each of its addresses by default', async () => {
    const isAt = async (host: string): Promise<boolean> =>
      askPort(port, '/healthz', { host, tls: {} }).then(
        () => true,
        () => false,
      );
    await start();
    expect([await isAt('127.0.0.1'), await isAt('127.0.0.2')]).toEqual([true, false]);
    await servers?.close();
    await start({ kubeconfig: '/k' });
    expect([await isAt('127.0.0.1'), await isAt('127.0.0.2')]).toEqual([true, true]);
    await servers?.close();
    await start({ kubeconfig: '/k', address: '127.0.0.1' });
    expect([await isAt('127.0.0.1'), await isAt('127.0.0.2')]).toEqual([true, false]);
  });

  it('has a certificate of its own that those can trust who are given it', async () => {
    await start();
    const ca = await readFile(join(folder, 'pki/podloop.crt'), 'utf8');
    const trusting = { ca, rejectUnauthorized: true };
    for (const servername of ['node-1', 'localhost']) {
      expect(await ask('/metrics', TOKEN, { ...trusting, servername })).toMatchObject({ code: 200 });
    }
    await expect(ask('/metrics', TOKEN, { ...trusting, servername: 'node-2' })).rejects.toThrow('altnames');
  });

  it('has one for the addresses that the node has now, as soon as its files are looked at again', async () => {
    await start();
    names = ['node-1', '192.0.2.9'];
    const refusal = async (): Promise<Error | undefined> => {
      const answer = await ask('/healthz', undefined, {
        ca: await readFile(join(folder, 'pki/podloop.crt'), 'utf8'),
        rejectUnauthorized: true,
        checkServerIdentity: (_: string, { subjectaltname = '' }: { subjectaltname?: string }) =>
          subjectaltname.includes('192.0.2.9') ? undefined : new Error('not for this address'),
      }).catch((error: unknown) => error as Error);
      return answer instanceof Error ? answer : undefined;
    };
    expect((await refusal())?.message).toContain('not for this address');
    await servers?.refreshFiles();
    expect(await refusal()).toBeUndefined();
  });

  it('speaks no TLS below the configured minimum, and no plain HTTP', async () => {
    await start({ tlsMinVersion: 'VersionTLS13' });
    await expect(ask('/healthz', undefined, { maxVersion: 'TLSv1.2' })).rejects.toThrow();
    expect((await ask('/healthz')).code).toBe(200);
    using plain = new RawClient(port, 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await plain.closed;
    expect(plain.got).not.toContain('HTTP/');
  });

  it('is closed soon, although a client has said nothing since it came', async () => {
    await start();
    using silent = new RawClient(port);
    await once(silent.socket, 'connect');
    expect((await ask('/healthz')).code).toBe(200);
    // Clients have ten seconds to agree upon TLS.
    expect(await settlesWithin(servers!.close(), 6_000, new SystemClock())).toBe(true);
    await silent.closed;
  });

  it('takes in new certificates and tokens while it runs', async () => {
    const [cert, key] = [join(folder, 'tls.crt'), join(folder, 'tls.key')];
    const put = async (commonName: string): Promise<void> => {
      const pair = await makeCertificate({ commonName, hosts: [commonName], purpose: 'server', ...TIMES });
      await Promise.all([writeFile(cert, pair.cert), writeFile(key, pair.key)]);
    };
    await put('one');
    await start({ tlsCertFile: cert, tlsPrivateKeyFile: key, tokenAuthFile: join(folder, 'tokens') });
    expect(await nameShown()).toBe('one');
    await put('two');
    await writeFile(join(folder, 'tokens'), 'n3w,ops,1');
    await servers!.refreshFiles();
    expect(await nameShown()).toBe('two');
    expect([(await ask('/metrics', TOKEN)).code, (await ask('/metrics', 'n3w')).code]).toEqual([401, 200]);
  });

  it('closes what an operator has switched off', async () => {
    const tokenAuthFile = join(folder, 'tokens');
    await start({ tokenAuthFile, enableSystemLogHandler: false });
    expect(await ask('/logs/x', TOKEN)).toMatchObject({ code: 405, text: 'logs endpoint is disabled.\n' });
    expect((await ask('/containerLogs/a/b/c', TOKEN)).code).toBe(200);
    await servers!.close();
    await start({ tokenAuthFile, enableDebuggingHandlers: false });
    const closed = ['/logs/x', '/containerLogs/a/b/c', '/api/v1/namespaces/a/pods/b/log'];
    for (const path of [
      ...closed,
      '/%6cogs/x',
      '/%63ontainerLogs/a/b/c',
      '/api/v1/namespaces/a/pods/b/%6cog/',
    ]) {
      expect(await ask(path, TOKEN), path).toMatchObject({ code: 405 });
    }
    for (const path of ['/LOGS/x', '//logs/x', '/exec/a/b/c']) {
      expect(await ask(path, TOKEN), path).toMatchObject({ code: 404 });
    }
    expect((await ask('/metrics', TOKEN)).code).toBe(200);
  });
});

describe('a certificate of a client', () => {
  let authority: CertificatePair;
  beforeEach(async () => {
    authority = await makeCertificate({ commonName: 'the authority', purpose: 'authority', ...TIMES });
    await writeFile(join(folder, 'ca.crt'), authority.cert);
  });
  const clientOf = async (
    issuer: CertificatePair,
    organization: string,
    more: Partial<Parameters<typeof makeCertificate>[0]> = {},
  ) => makeCertificate({ commonName: 'jane', organization, purpose: 'client', issuer, ...TIMES, ...more });

  it('is good for everything when the authority vouches for it', async () => {
    await start({ clientCaFile: join(folder, 'ca.crt') });
    const jane = await clientOf(authority, 'ops');
    expect((await ask('/metrics', undefined, jane)).code).toBe(200);
    expect((await ask('/metrics')).code).toBe(403);
  });

  it('is good for nothing when it is of another, is over, is a server’s, or vouches for itself', async () => {
    await start({ clientCaFile: join(folder, 'ca.crt') });
    const other = await makeCertificate({ commonName: 'the authority', purpose: 'authority', ...TIMES });
    const past = { validFrom: new Date(Date.now() - 7_200_000), validTo: new Date(Date.now() - 60_000) };
    const impostors = [
      await clientOf(other, 'system:masters'),
      await clientOf(authority, 'system:masters', past),
      await clientOf(authority, 'system:masters', { purpose: 'server' }),
      await makeCertificate({
        commonName: 'jane',
        organization: 'system:masters',
        purpose: 'client',
        ...TIMES,
      }),
    ];
    for (const impostor of impostors) {
      expect((await ask('/metrics', undefined, impostor)).code).toBe(403);
      expect((await ask('/healthz', undefined, impostor)).code).toBe(200);
    }
  });

  it('must be of system:masters where an API server would have to be asked of others', async () => {
    await start({ clientCaFile: join(folder, 'ca.crt'), authorizationMode: 'Webhook' });
    expect((await ask('/metrics', undefined, await clientOf(authority, 'system:masters'))).code).toBe(200);
    const { code, text } = await ask('/metrics', undefined, await clientOf(authority, 'ops'));
    expect([code, text]).toEqual([
      403,
      'Forbidden (user=jane, verb=get, resource=nodes, subresource(s)=[metrics])\n',
    ]);
  });
});

/** The common name that the server shows to a new client. */
async function nameShown(): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false }, () => {
      resolve(String(socket.getPeerCertificate().subject.CN));
      socket.destroy();
    });
    socket.on('error', reject);
  });
}
