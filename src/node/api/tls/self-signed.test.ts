import { createPrivateKey, X509Certificate } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { isOutworn, SelfSigner } from './self-signed.js';

const NOW_MS = Date.UTC(2030, 5, 1);
const DAY_MS = 86_400_000;
const HOSTS = ['node-1', 'localhost', '127.0.0.1', '::1', '192.0.2.7', '2001:db8::1:7', 'fe80::1'];

describe('a self-signed certificate', () => {
  it('is good for the names and addresses of the server, with its own key', async () => {
    const { cert, key } = await new SelfSigner().make({ hosts: HOSTS, nowMs: NOW_MS });
    const certificate = new X509Certificate(cert);
    expect(certificate.checkPrivateKey(createPrivateKey(key))).toBe(true);
    expect(certificate.verify(certificate.publicKey)).toBe(true);
    expect(certificate.subject).toBe('CN=node-1');
    expect(certificate.ca).toBe(false);
    for (const host of HOSTS.slice(0, 2)) expect(certificate.checkHost(host), host).toBe(host);
    for (const address of HOSTS.slice(2)) expect(certificate.checkIP(address), address).toBe(address);
    expect(certificate.checkHost('node-2')).toBeUndefined();
    expect(Date.parse(certificate.validTo) - NOW_MS).toBe(365 * DAY_MS);
  });

  it('is worn out when it ends within two months, lacks a name, or is of the future', async () => {
    const { cert } = await new SelfSigner().make({ hosts: HOSTS, nowMs: NOW_MS });
    const isOld = (days: number, hosts = HOSTS): boolean =>
      isOutworn(cert, { hosts, nowMs: NOW_MS + days * DAY_MS });
    expect([isOld(0), isOld(304), isOld(306), isOld(400), isOld(-2)]).toEqual([
      false,
      false,
      true,
      true,
      true,
    ]);
    expect([isOld(0, ['localhost']), isOld(0, ['node-2']), isOld(0, ['192.0.2.8'])]).toEqual([
      false,
      true,
      true,
    ]);
  });

  it('is another one each time', async () => {
    const [one, other] = [
      await new SelfSigner().make({ hosts: HOSTS, nowMs: 0 }),
      await new SelfSigner().make({ hosts: HOSTS, nowMs: 0 }),
    ];
    expect(new X509Certificate(one.cert).serialNumber).not.toBe(new X509Certificate(other.cert).serialNumber);
    expect(one.key).not.toBe(other.key);
  });
});
