import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, createServer, getCiphers, type SecureContextOptions } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeCertificate } from '../tls/make-certificate.js';
import { FakeClock } from '#testing/fake-clock.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { type CertificatesRead, certificatesRead } from '#base/channels/certificate-channels.js';
import { type PodloopError } from '#base/errors/errors.js';
import { type GivenAgentOptions, resolveAgentOptions } from '../../options/resolve-agent-options.js';
import { TlsFiles } from './tls-files.js';

const DAY_MS = 86_400_000;
let folder: string;
let clock: FakeClock;
let logger: LogRecorder;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-tls-'));
  clock = new FakeClock();
  logger = new LogRecorder();
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

const at = (name: string): string => join(folder, name);

async function open(
  given: GivenAgentOptions = {},
  hosts: string[] = ['node-1', '127.0.0.1'],
): Promise<TlsFiles> {
  return TlsFiles.open({
    options: resolveAgentOptions(given),
    hosts: () => hosts,
    folder: at('pki'),
    clock,
    logger,
  });
}

async function aPair(commonName: string) {
  const times = { validFrom: new Date(0), validTo: new Date(2e12) };
  return makeCertificate({ commonName, hosts: [commonName], purpose: 'server', ...times });
}

async function putPair(commonName: string): Promise<void> {
  const { cert, key } = await aPair(commonName);
  await writeFile(at('tls.crt'), cert);
  await writeFile(at('tls.key'), key);
}

const FILES = (): GivenAgentOptions => ({ tlsCertFile: at('tls.crt'), tlsPrivateKeyFile: at('tls.key') });
const nameOf = (files: TlsFiles): string => new X509Certificate(files.context.cert as string).subject;

describe('the certificate of its own', () => {
  it('is kept for its owner alone, over restarts, and renewed while it is still good', async () => {
    const first = await open();
    expect(nameOf(first)).toBe('CN=node-1');
    expect((await stat(at('pki'))).mode & 0o777).toBe(0o700);
    expect((await stat(at('pki/podloop.pem'))).mode & 0o777).toBe(0o600);
    expect(await readFile(at('pki/podloop.crt'), 'utf8')).toBe(first.context.cert);
    expect((await open()).context.cert).toBe(first.context.cert);
    expect(await first.refresh()).toBe(false);
    await clock.advance(300 * DAY_MS);
    expect(await first.refresh()).toBe(false);
    await clock.advance(10 * DAY_MS);
    expect(await first.refresh()).toBe(true);
    expect((await open()).context.cert).toBe(first.context.cert);
  });

  it('is recreated when an address comes that it lacks, and not when one goes', async () => {
    const hosts = ['node-1', '192.0.2.7'];
    const files = await open({}, hosts);
    const first = files.context.cert;
    hosts.push('192.0.2.8');
    expect(await files.refresh()).toBe(true);
    const second = files.context.cert;
    expect(second).not.toBe(first);
    expect(new X509Certificate(second as string).checkIP('192.0.2.8')).toBe('192.0.2.8');
    expect(await readFile(at('pki/podloop.crt'), 'utf8')).toBe(second);
    hosts.splice(1, 1);
    expect(await files.refresh()).toBe(false);
    expect(files.context.cert).toBe(second);
  });

  it('is for addresses, too, that it was for before, so that a node that gets its own late keeps one', async () => {
    const hosts = ['node-1', '192.0.2.7', '2001:db8::1'];
    const files = await open({}, hosts);
    hosts.splice(1, 1, '192.0.2.8');
    await files.refresh();
    const { cert } = files.context;
    for (const again of [['192.0.2.7', '2001:db8::1'], ['192.0.2.8']]) {
      expect((await open({}, ['node-1', ...again])).context.cert).toBe(cert);
    }
  });

  it('keeps fifty addresses, the newest first', async () => {
    const many = (net: number): string[] => Array.from({ length: 40 }, (_, host) => `198.51.${net}.${host}`);
    await open({}, ['node-1', ...many(1)]);
    const certificate = new X509Certificate((await open({}, ['node-1', ...many(2)])).context.cert as string);
    const found = [...many(2), ...many(1)].filter((address) => certificate.checkIP(address) !== undefined);
    expect(found).toEqual([...many(2), ...many(1).slice(0, 9)]);
  });

  it('forgets addresses of long ago when its time is up', async () => {
    await open({}, ['node-1', '192.0.2.7']);
    await clock.advance(310 * DAY_MS);
    const { cert } = (await open({}, ['node-1', '192.0.2.8'])).context;
    expect(new X509Certificate(cert as string).checkIP('192.0.2.7')).toBeUndefined();
  });

  it('is recreated when the node has another name, or its file is broken', async () => {
    const { context } = await open();
    const renamed = await open({}, ['node-2']);
    expect(nameOf(renamed)).toBe('CN=node-2');
    expect(renamed.context.cert).not.toBe(context.cert);
    await writeFile(at('pki/podloop.pem'), `${await readFile(at('pki/podloop.crt'), 'utf8')}half a key`);
    expect((await open({}, ['node-2'])).context.cert).not.toBe(renamed.context.cert);
  });
});

describe('what lies in the folder of certificates', () => {
  const put = async (commonName: string, cert: string, key: string, times = {}): Promise<void> => {
    const common = { commonName, hosts: [commonName], purpose: 'server' } as const;
    const always = { validFrom: new Date(0), validTo: new Date(2e12) };
    const pair = await makeCertificate({ ...common, ...always, ...times });
    await mkdir(at('pki'), { recursive: true });
    if (cert === key) await writeFile(at(`pki/${cert}`), pair.cert + pair.key);
    else await Promise.all([writeFile(at(`pki/${cert}`), pair.cert), writeFile(at(`pki/${key}`), pair.key)]);
  };

  it('is what the cluster has signed, as soon as it is there, where that is wanted', async () => {
    await put('signed', 'kubelet-server-current.pem', 'kubelet-server-current.pem');
    expect(nameOf(await open())).toBe('CN=node-1');
    await rm(at('pki/kubelet-server-current.pem'));
    const files = await open({ serverTlsBootstrap: true });
    expect(nameOf(files)).toBe('CN=node-1');
    await put('signed', 'kubelet-server-current.pem', 'kubelet-server-current.pem');
    expect(await files.refresh()).toBe(true);
    expect(nameOf(files)).toBe('CN=signed');
    expect(await files.refresh()).toBe(false);
  });

  it('is what a kubelet has left, until it ends, and nothing of it is touched', async () => {
    await put('left', 'kubelet.crt', 'kubelet.key', { validTo: new Date(clock.now() + DAY_MS) });
    const before = await readFile(at('pki/kubelet.crt'), 'utf8');
    const files = await open();
    expect(nameOf(files)).toBe('CN=left');
    await put('other', 'kubelet.crt', 'none', { validTo: new Date(clock.now() + DAY_MS) });
    // Its key is still to come.
    expect([await files.refresh(), nameOf(files)]).toEqual([false, 'CN=left']);
    await writeFile(at('pki/kubelet.crt'), before);
    await clock.advance(2 * DAY_MS);
    expect(await files.refresh()).toBe(true);
    expect(nameOf(files)).toBe('CN=node-1');
    expect(await readFile(at('pki/kubelet.crt'), 'utf8')).toBe(before);
  });
});

describe('files of others', () => {
  it('are taken in when they have changed as a whole, and what was read before holds until then', async () => {
    await putPair('one');
    const files = await open(FILES());
    expect(nameOf(files)).toBe('CN=one');
    const { cert, key } = await aPair('two');
    await writeFile(at('tls.crt'), cert);
    expect([await files.refresh(), await files.refresh()]).toEqual([false, false]);
    expect(nameOf(files)).toBe('CN=one');
    expect(logger.complaints).toHaveLength(1);
    expect(String(logger.complaints[0]!.fields['err'])).toContain('is not the key of --tls-cert-file');
    await writeFile(at('tls.key'), key);
    expect(await files.refresh()).toBe(true);
    expect(nameOf(files)).toBe('CN=two');
  });

  it('report when they expire, at the start and after a replacement', async () => {
    const told: CertificatesRead[] = [];
    const leave = certificatesRead.subscribe((read) => told.push(read));
    await putPair('one');
    const times = { validFrom: new Date(0), validTo: new Date(1.9e12) };
    const authority = await makeCertificate({ commonName: 'ca', purpose: 'authority', ...times });
    await writeFile(at('ca.crt'), (await aPair('longer')).cert + authority.cert);
    const files = await open({ ...FILES(), clientCaFile: at('ca.crt') });
    await files.refresh();
    await writeFile(at('ca.crt'), authority.cert.replace('CERTIFICATE', 'NOTHING'));
    await files.refresh();
    await writeFile(at('ca.crt'), (await aPair('longer')).cert);
    await files.refresh();
    leave();
    expect(told).toEqual([
      { serverEndsAtMs: 2e12, clientAuthorityEndsAtMs: 1.9e12 },
      { serverEndsAtMs: 2e12, clientAuthorityEndsAtMs: 2e12 },
    ]);
  });

  it('say who has which token, from one moment to the next', async () => {
    const tokenAuthFile = at('tokens');
    await writeFile(tokenAuthFile, 's3cret,ops,1', { mode: 0o600 });
    const files = await open({ tokenAuthFile });
    expect(files.tokens.find('s3cret')).toMatchObject({ name: 'ops' });
    await writeFile(tokenAuthFile, 'other,ops,1');
    expect(await files.refresh()).toBe(false);
    expect([files.tokens.find('s3cret'), files.tokens.find('other')?.name]).toEqual([undefined, 'ops']);
    await rm(tokenAuthFile);
    await files.refresh();
    expect(files.tokens.find('other')).toBeDefined();
    expect(logger.complaints).toHaveLength(1);
  });

  it('are taken in each by itself: a broken certificate keeps no token that was taken back', async () => {
    await putPair('one');
    const [tokenAuthFile, clientCaFile] = [at('tokens'), at('ca.crt')];
    await writeFile(tokenAuthFile, 's3cret,ops,1', { mode: 0o600 });
    await writeFile(clientCaFile, (await aPair('ca')).cert);
    const files = await open({ ...FILES(), tokenAuthFile, clientCaFile });
    await writeFile(at('tls.crt'), 'half a certif');
    const { cert: ca } = await aPair('other ca');
    await writeFile(clientCaFile, ca);
    await writeFile(tokenAuthFile, 'other,ops,1');
    expect(await files.refresh()).toBe(true);
    expect([files.tokens.find('s3cret'), files.context.ca, nameOf(files)]).toEqual([undefined, ca, 'CN=one']);
    expect(logger.complaints).toMatchObject([{ fields: { flag: '--tls-cert-file' } }]);
    await putPair('two');
    await rm(clientCaFile);
    expect(await files.refresh()).toBe(true);
    expect([files.context.ca, nameOf(files)]).toEqual([ca, 'CN=two']);
    expect(logger.complaints).toHaveLength(2);
  });

  it('that cannot be used are named with their flag, without their content', async () => {
    await putPair('one');
    const failure = async (given: GivenAgentOptions): Promise<string> =>
      open(given).then(
        () => 'none',
        (error: unknown) => `${(error as PodloopError).code} ${(error as PodloopError).message}`,
      );
    expect(await failure({ ...FILES(), tlsCertFile: at('none') })).toMatch(
      /^OPTION_INVALID --tls-cert-file: .*none cannot be read/,
    );
    expect(await failure({ ...FILES(), tlsCertFile: at('tls.key') })).toContain(
      'holds no certificate in PEM',
    );
    expect(await failure({ ...FILES(), tlsPrivateKeyFile: at('tls.crt') })).toMatch(
      /--tls-private-key-file: .* no private key/,
    );
    expect(await failure({ clientCaFile: folder })).toMatch(/--client-ca-file: .* is no file/);
    expect(await failure({ clientCaFile: at('tls.key') })).toContain('--client-ca-file');
    await writeFile(at('tokens'), 's3cret');
    await chmod(at('tokens'), 0o640);
    expect(await failure({ tokenAuthFile: at('tokens') })).toContain(`chmod 600 ${at('tokens')}`);
    await chmod(at('tokens'), 0o600);
    const told = await failure({ tokenAuthFile: at('tokens') });
    expect(told).toMatch(/--token-auth-file: .* line 1 is not token,user,uid/);
    expect(told).not.toContain('s3cret');
  });
});

describe('what TLS is spoken', () => {
  /** The suite on which a client that offers only one comes to terms with the server; undefined when it cannot. */
  async function agree(context: SecureContextOptions, ciphers: string): Promise<string | undefined> {
    const server = createServer(context, (socket) => socket.end());
    server.on('tlsClientError', () => undefined);
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const asks = { port, host: '127.0.0.1', rejectUnauthorized: false, maxVersion: 'TLSv1.2' as const };
    const socket = connect({ ...asks, ciphers: `${ciphers}:@SECLEVEL=0` });
    const name = await once(socket, 'secureConnect').then(
      () => socket.getCipher().name,
      () => undefined,
    );
    socket.destroy();
    server.close();
    return name;
  }

  it('has no suite in CBC mode, without forward secrecy or with an old cipher unless it was chosen', async () => {
    const { context } = await open();
    const known = getCiphers().map((name) => name.toUpperCase());
    const weak = known.filter((name) => /^(AES|DHE|ECDHE)/.test(name) && !/PSK/.test(name));
    const refused = weak.filter((name) => !/^ECDHE.*(GCM|CHACHA20)/.test(name));
    expect(refused).toContain('ECDHE-ECDSA-AES128-SHA');
    for (const name of refused) expect(await agree(context, name), name).toBeUndefined();
    for (const name of ['ECDHE-ECDSA-AES128-GCM-SHA256', 'ECDHE-ECDSA-CHACHA20-POLY1305'])
      expect(await agree(context, name)).toBe(name);
    const chosen = await open({ tlsCipherSuites: ['TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA'] });
    expect(await agree(chosen.context, 'ECDHE-ECDSA-AES128-SHA')).toBe('ECDHE-ECDSA-AES128-SHA');
  });

  it('is 1.2 with suites that keep secrets, or what was chosen', async () => {
    expect((await open()).context).toMatchObject({ minVersion: 'TLSv1.2' });
    const chosen = await open({
      tlsMinVersion: 'VersionTLS13',
      tlsCipherSuites: ['TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256'],
    });
    expect(chosen.context.minVersion).toBe('TLSv1.3');
    expect(chosen.context.ciphers).toMatch(/^TLS_AES_128_GCM_SHA256:.*:ECDHE-ECDSA-AES128-GCM-SHA256$/);
  });
});
