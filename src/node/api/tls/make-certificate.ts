import { webcrypto } from 'node:crypto';
import { Integer } from 'asn1js';
import { BasicConstraints, Certificate, CryptoEngine, ExtKeyUsage } from 'pkijs';
import { fromPem, toPem } from '#base/wire/pem.js';
import {
  ECDSA_P256,
  OIDS,
  toDistinguishedName,
  toExtension,
  toSubjectAltName,
} from '#base/wire/x509-parts.js';

/** A certificate and its key, in PEM. */
export interface CertificatePair {
  readonly cert: string;
  readonly key: string;
}

/** The contents of a certificate. */
export interface CertificateFacts {
  readonly commonName: string;
  readonly organization?: string;
  /** Names and addresses of a server. */
  readonly hosts?: readonly string[];
  readonly purpose: 'server' | 'client' | 'authority';
  readonly validFrom: Date;
  readonly validTo: Date;
  /** Its signer (default: itself). */
  readonly issuer?: CertificatePair;
}

/** Creates a key (P-256) and an X.509 v3 certificate for it. */
export async function makeCertificate(facts: CertificateFacts): Promise<CertificatePair> {
  const { commonName, organization, hosts = [], purpose, issuer } = facts;
  const engine = new CryptoEngine({ name: 'node', crypto: webcrypto });
  const keys = await webcrypto.subtle.generateKey(ECDSA_P256, true, ['sign', 'verify']);
  const certificate = new Certificate();
  // That is v3.
  certificate.version = 2;
  certificate.serialNumber = new Integer({ valueHex: makeSerial() });
  certificate.subject = toDistinguishedName([
    ...(organization === undefined ? [] : [[OIDS.organization, organization] as const]),
    [OIDS.commonName, commonName],
  ]);
  certificate.issuer =
    issuer === undefined ? certificate.subject : Certificate.fromBER(fromPem(issuer.cert)).subject;
  certificate.notBefore.value = facts.validFrom;
  certificate.notAfter.value = facts.validTo;
  certificate.extensions = [
    toExtension(OIDS.basicConstraints, new BasicConstraints({ cA: purpose === 'authority' }), true),
  ];
  if (purpose !== 'authority') {
    const usage = new ExtKeyUsage({ keyPurposes: [OIDS[purpose]] });
    certificate.extensions.push(toExtension(OIDS.extKeyUsage, usage, false));
  }
  if (hosts.length > 0) certificate.extensions.push(toSubjectAltName(hosts));
  await certificate.subjectPublicKeyInfo.importKey(keys.publicKey, engine);
  const signer = issuer === undefined ? keys.privateKey : await importKey(issuer.key);
  await certificate.sign(signer, 'SHA-256', engine);
  return {
    cert: toPem('CERTIFICATE', certificate.toSchema(true).toBER(false)),
    key: toPem('PRIVATE KEY', await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)),
  };
}

/** A non-negative number without leading zeros. */
function makeSerial(): ArrayBuffer {
  const bytes = webcrypto.getRandomValues(new Uint8Array(16));
  bytes[0] = (bytes[0]! & 0x3f) | 0x40;
  return bytes.buffer;
}

async function importKey(pem: string): Promise<webcrypto.CryptoKey> {
  return webcrypto.subtle.importKey('pkcs8', fromPem(pem), ECDSA_P256, false, ['sign']);
}
