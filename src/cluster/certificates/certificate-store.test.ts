import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { lstat, mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CertificatePair, makeCertificate } from '../../node/api/tls/make-certificate.js';
import { FakeClock } from '#testing/fake-clock.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { signRequest } from '#support/clients/request-signer.js';
import { CertificateStore } from './certificate-store.js';
import { nodeSubject } from './certificate-subject.js';
import { makeSigningRequest } from './signing-request.js';

const TIMES = { validFrom: new Date(0), validTo: new Date(2e12) };
let folder: string;
let clock: FakeClock;
let logger: LogRecorder;
let issuer: CertificatePair;
beforeEach(async () => {
  folder = join(await mkdtemp(join(tmpdir(), 'podloop-store-')), 'pki');
  clock = new FakeClock({ nowMs: Date.UTC(2026, 10, 22, 10, 30) });
  logger = new LogRecorder();
  issuer = await makeCertificate({ commonName: 'ca', purpose: 'authority', ...TIMES });
});
afterEach(async () => {
  await rm(join(folder, '..'), { recursive: true });
});

const open = (): CertificateStore =>
  new CertificateStore({ folder, prefix: 'kubelet-client', clock, logger });
const at = (name: string): string => join(folder, name);
const sign = async (key: KeyObject): Promise<string> =>
  signRequest(makeSigningRequest(nodeSubject('here'), key), issuer, TIMES);
const publicOf = (key: KeyObject): string =>
  createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString();

describe('certificates on the disk', () => {
  it('are a pair in one file for its owner alone, to which a link leads, as with a kubelet', async () => {
    const store = open();
    expect(await store.find()).toBeUndefined();
    const key = await store.pendingKey();
    const held = await store.put(`${await sign(key)}${issuer.cert}`, key);
    expect(held).toMatchObject({ name: 'O=system:nodes, CN=system:node:here', fromMs: 0, toMs: 2e12 });
    expect(await readdir(folder)).toEqual([
      'kubelet-client-2026-11-22-10-30-00.pem',
      'kubelet-client-current.pem',
    ]);
    expect(await readlink(at('kubelet-client-current.pem'))).toBe('kubelet-client-2026-11-22-10-30-00.pem');
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    expect((await stat(store.currentFile)).mode & 0o777).toBe(0o600);
    const text = await readFile(store.currentFile, 'utf8');
    expect(text.match(/-----BEGIN [A-Z ]+-----/g)).toEqual([
      '-----BEGIN CERTIFICATE-----',
      '-----BEGIN CERTIFICATE-----',
      '-----BEGIN EC PRIVATE KEY-----',
    ]);
    expect(await open().find()).toMatchObject({ cert: held.cert, key: held.key });
  });

  it('keep the key of a request over kills, until it has led somewhere', async () => {
    const key = await open().pendingKey();
    expect((await stat(at('kubelet-client.key.tmp'))).mode & 0o777).toBe(0o600);
    expect(publicOf(await open().pendingKey())).toBe(publicOf(key));
    await open().dropPendingKey();
    const other = await open().pendingKey();
    expect(publicOf(other)).not.toBe(publicOf(key));
    // Killed when the pair was there, and the key still, too.
    const kept = await readFile(at('kubelet-client.key.tmp'));
    await open().put(await sign(other), other);
    await writeFile(at('kubelet-client.key.tmp'), kept);
    expect(publicOf(await open().pendingKey())).not.toBe(publicOf(other));
  });

  it('are made anew from what is no key', async () => {
    await mkdir(folder);
    for (const text of [
      '',
      'nothing',
      '-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n',
    ]) {
      await writeFile(at('kubelet-client.key.tmp'), text);
      expect((await open().pendingKey()).asymmetricKeyDetails?.namedCurve).toBe('prime256v1');
    }
    const { privateKey: rsa } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    await writeFile(at('kubelet-client.key.tmp'), rsa.export({ type: 'pkcs1', format: 'pem' }));
    expect((await open().pendingKey()).asymmetricKeyType).toBe('ec');
  });

  it('are taken up from a kubelet, and told of once when they cannot be used', async () => {
    await mkdir(folder);
    const { cert, key } = await makeCertificate({
      ...{
        commonName: 'system:node:here',
        organization: 'system:nodes',
        purpose: 'client',
        issuer,
        ...TIMES,
      },
    });
    const store = open();
    await writeFile(store.currentFile, cert + key);
    expect(await store.find()).toMatchObject({ name: 'O=system:nodes, CN=system:node:here' });
    await writeFile(store.currentFile, cert);
    expect([await store.find(), await store.find()]).toEqual([undefined, undefined]);
    expect(logger.complaints).toMatchObject([{ fields: { why: 'holds no private key in PEM' } }]);
    const other = generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey;
    await writeFile(store.currentFile, cert + other.export({ type: 'sec1', format: 'pem' }).toString());
    await store.find();
    expect(logger.complaints[1]).toMatchObject({
      fields: { why: 'holds a certificate and the key of another one' },
    });
    expect(JSON.stringify(logger.complaints)).not.toContain('PRIVATE KEY-');
  });

  it('are replaced as a whole, and those from before last go', async () => {
    const store = open();
    await mkdir(folder);
    // Of a kubelet in another time zone.
    await writeFile(at('kubelet-client-2026-11-23-00-00-00.pem'), 'old');
    await writeFile(at('kubelet-server-2026-11-22-10-30-00.pem'), 'other');
    for (let time = 0; time < 8; time++) {
      const key = await store.pendingKey();
      const { cert } = await store.put(await sign(key), key);
      expect((await open().find())?.cert).toBe(cert);
      await clock.advance(1_000);
    }
    const names = await readdir(folder);
    expect(names.filter((name) => name.startsWith('kubelet-client-2026'))).toEqual([
      ...['kubelet-client-2026-11-22-10-30-03.pem', 'kubelet-client-2026-11-22-10-30-04.pem'],
      ...['kubelet-client-2026-11-22-10-30-05.pem', 'kubelet-client-2026-11-22-10-30-06.pem'],
      ...['kubelet-client-2026-11-22-10-30-07.pem', 'kubelet-client-2026-11-23-00-00-00.pem'],
    ]);
    expect(names).toContain('kubelet-server-2026-11-22-10-30-00.pem');
    expect((await lstat(store.currentFile)).isSymbolicLink()).toBe(true);
  });

  it('take nothing that is not of the key', async () => {
    const store = open();
    const key = await store.pendingKey();
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
    await expect(store.put(await sign(privateKey), key)).rejects.toThrow('the key of another one');
    expect(await readdir(folder)).toEqual(['kubelet-client.key.tmp']);
    expect(publicOf(createPrivateKey(await readFile(at('kubelet-client.key.tmp'))))).toBe(publicOf(key));
  });
});
