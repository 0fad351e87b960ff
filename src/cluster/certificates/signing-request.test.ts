import {
  createHash,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  X509Certificate,
} from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { makeCertificate } from '../../node/api/tls/make-certificate.js';
import { signRequest } from '#support/clients/request-signer.js';
import { type CertificateSubject, nodeSubject, servingSubject } from './certificate-subject.js';
import { CLIENT_ORDER, makeSigningRequest, nameSigningRequest, SERVING_ORDER } from './signing-request.js';

const TIMES = { validFrom: new Date(0), validTo: new Date(2e12) };
const makeKey = (): KeyObject => generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey;

async function signed(subject: CertificateSubject, key: KeyObject): Promise<X509Certificate> {
  const issuer = await makeCertificate({ commonName: 'ca', purpose: 'authority', ...TIMES });
  return new X509Certificate(await signRequest(makeSigningRequest(subject, key), issuer, TIMES));
}

describe('a request for a certificate', () => {
  it('of a client asks for the name by which an API server knows a node', async () => {
    const key = makeKey();
    const certificate = await signed(nodeSubject('here'), key);
    expect(certificate.subject).toBe('O=system:nodes\nCN=system:node:here');
    expect(certificate.checkPrivateKey(key)).toBe(true);
    expect(certificate.subjectAltName).toBeUndefined();
  });

  it('has a list of attributes, be it empty: Go reads none without', async () => {
    const der = Buffer.from(
      makeSigningRequest(nodeSubject('here'), makeKey()).replaceAll(/-----[^-]+-----|\s/g, ''),
      'base64',
    );
    const spki = der.indexOf(Buffer.from([0x30, 0x59, 0x30, 0x13]));
    expect([...der.subarray(spki + 0x5b, spki + 0x5d)]).toEqual([0xa0, 0]);
  });

  it('of a server asks for the names and addresses of the node besides', async () => {
    const subject = servingSubject('here', [
      { type: 'InternalIP', address: '192.0.2.7' },
      { type: 'ExternalIP', address: '2001:db8::7' },
      { type: 'Hostname', address: 'here.example' },
      { type: 'InternalDNS', address: 'a.internal' },
      { type: 'Hostname', address: 'here.example' },
    ])!;
    const certificate = await signed(subject, makeKey());
    expect(certificate.subject).toBe('O=system:nodes\nCN=system:node:here');
    expect(certificate.subjectAltName).toBe(
      'DNS:a.internal, DNS:here.example, IP Address:192.0.2.7, IP Address:2001:DB8:0:0:0:0:0:7',
    );
  });

  it('of a server waits for an address', () => {
    expect(servingSubject('here', [{ type: 'Hostname', address: 'here' }])).toBeUndefined();
    expect(servingSubject('here', [])).toBeUndefined();
  });

  it('is named after its key and what is asked for, whenever it is made', () => {
    const [key, other] = [makeKey(), makeKey()];
    const client = { ...CLIENT_ORDER, subject: nodeSubject('here') };
    const name = nameSigningRequest(client, key);
    expect(name).toMatch(/^node-csr-[\w-]{43}$/);
    expect(nameSigningRequest(structuredClone(client), key)).toBe(name);
    const serving = (ip: string) => ({
      ...SERVING_ORDER,
      subject: servingSubject('here', [{ type: 'InternalIP', address: ip }])!,
    });
    const names = [
      name,
      nameSigningRequest(client, other),
      nameSigningRequest({ ...CLIENT_ORDER, subject: nodeSubject('there') }, key),
      nameSigningRequest({ ...client, usages: [...client.usages, 'key encipherment'] }, key),
      nameSigningRequest(serving('192.0.2.7'), key),
      nameSigningRequest(serving('192.0.2.8'), key),
    ];
    expect(new Set(names).size).toBe(names.length);
    expect(names.at(-1)).toMatch(/^csr-[\w-]{43}$/);
  });

  it('has the name that a kubelet gives it', () => {
    // Of what a kubelet of v1.37.2 hashes, put together by hand.
    const key = makeKey();
    const spki = createPublicKey(key).export({ type: 'spki', format: 'der' });
    const parts = [spki, 'system:node:here', 'system:nodes', 'digital signature', 'client auth'];
    const text = parts.map((part) => `${Buffer.from(part).toString('base64url')}|`).join('');
    expect(nameSigningRequest({ ...CLIENT_ORDER, subject: nodeSubject('here') }, key)).toBe(
      `node-csr-${digest(text)}`,
    );
  });
});

function digest(text: string): string {
  return createHash('sha512-256').update(text).digest('base64url');
}
