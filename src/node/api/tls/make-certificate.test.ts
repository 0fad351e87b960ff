import { createPrivateKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { BasicConstraints, Certificate, type ExtKeyUsage } from 'pkijs';
import { describe, expect, it } from 'vitest';
import { OIDS } from '#base/wire/x509-parts.js';
import { makeCertificate } from './make-certificate.js';

const TIMES = { validFrom: new Date(Date.UTC(2026, 0, 1)), validTo: new Date(Date.UTC(2049, 11, 31)) };

describe('a certificate that is made', () => {
  it('is signed by its authority, and names it as that names itself', async () => {
    const authority = await makeCertificate({
      ...{ commonName: 'ca', organization: 'Exämple', purpose: 'authority', ...TIMES },
    });
    const { cert, key } = await makeCertificate({
      ...{ commonName: 'admin', organization: 'system:masters', purpose: 'client', ...TIMES },
      issuer: authority,
    });
    const [certificate, issuer] = [new X509Certificate(cert), new X509Certificate(authority.cert)];
    expect([issuer.ca, issuer.subject, certificate.ca]).toEqual([true, 'O=Exämple\nCN=ca', false]);
    expect(certificate.checkIssued(issuer)).toBe(true);
    expect(certificate.verify(issuer.publicKey)).toBe(true);
    expect(certificate.subject).toBe('O=system:masters\nCN=admin');
    expect(certificate.checkPrivateKey(createPrivateKey(key))).toBe(true);
    expect(certificate.serialNumber).toMatch(/^[4-7][\dA-F]{31}$/);
  });

  it('says to other readers what it is for', async () => {
    const purposes = ['server', 'client', 'authority'] as const;
    const read = purposes.map(async (purpose) => {
      const { cert } = await makeCertificate({ commonName: 'here', purpose, ...TIMES });
      const { version, extensions = [] } = Certificate.fromBER(new X509Certificate(cert).raw);
      const values = extensions.map(({ parsedValue, critical }) => {
        if (parsedValue instanceof BasicConstraints) return { cA: parsedValue.cA, critical };
        return (parsedValue as ExtKeyUsage).keyPurposes;
      });
      return [version, ...values];
    });
    expect(await Promise.all(read)).toEqual([
      [2, { cA: false, critical: true }, [OIDS.server]],
      [2, { cA: false, critical: true }, [OIDS.client]],
      [2, { cA: true, critical: true }],
    ]);
  });

  it.each([2049, 2050, 2120])('ends in %d, to the second', async (year) => {
    const validTo = new Date(Date.UTC(year, 11, 31, 23, 59, 59, 900));
    const { cert } = await makeCertificate({ commonName: 'here', purpose: 'server', ...TIMES, validTo });
    const certificate = new X509Certificate(cert);
    expect(Date.parse(certificate.validTo)).toBe(validTo.getTime() - 900);
    expect(certificate.verify(certificate.publicKey)).toBe(true);
    // RFC 5280: two digits of the year up to 2049, four from then on, no fractions.
    const text = certificate.raw.toString('latin1');
    const digits = year < 2050 ? '\x17\x0d491231' : `\x18\x0f${year}1231`;
    expect(text).toContain(`${digits}235959Z`);
  });

  it('is not signed with a key of another kind', async () => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const { cert } = await makeCertificate({ commonName: 'ca', purpose: 'authority', ...TIMES });
    const made = makeCertificate({ commonName: 'here', purpose: 'server', ...TIMES, issuer: { cert, key } });
    await expect(made).rejects.toThrow(
      'a certificate is signed with a key on an elliptic curve, not with rsa',
    );
  });
});
