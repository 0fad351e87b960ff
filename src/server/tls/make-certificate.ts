import { webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import { Integer, OctetString, Utf8String } from 'asn1js';
import {
  AttributeTypeAndValue,
  BasicConstraints,
  Certificate,
  CryptoEngine,
  Extension,
  ExtKeyUsage,
  GeneralName,
  GeneralNames,
} from 'pkijs';

/** A certificate and its key, in PEM. */
export interface CertificatePair {
  readonly cert: string;
  readonly key: string;
}

/** What a certificate says. */
export interface CertificateFacts {
  readonly commonName: string;
  readonly organization?: string;
  /** Names and addresses of a server. */
  readonly hosts?: readonly string[];
  readonly purpose: 'server' | 'client' | 'authority';
  readonly validFrom: Date;
  readonly validTo: Date;
  /** Who vouches for it; itself unless told. */
  readonly issuer?: CertificatePair;
}

const OIDS = {
  commonName: '2.5.4.3',
  organization: '2.5.4.10',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  extKeyUsage: '2.5.29.37',
  server: '1.3.6.1.5.5.7.3.1',
  client: '1.3.6.1.5.5.7.3.2',
};
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256' } as const;
/** Kinds of a GeneralName. */
const [DNS_NAME, IP_ADDRESS] = [2, 7] as const;

/** Makes a key (P-256) and an X.509 v3 certificate for it. */
export async function makeCertificate(facts: CertificateFacts): Promise<CertificatePair> {
  const { commonName, organization, hosts = [], purpose, issuer } = facts;
  const engine = new CryptoEngine({ name: 'node', crypto: webcrypto });
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const certificate = new Certificate();
  // That is v3.
  certificate.version = 2;
  certificate.serialNumber = new Integer({ valueHex: makeSerial() });
  const { typesAndValues } = certificate.subject;
  if (organization !== undefined) typesAndValues.push(toAttribute(OIDS.organization, organization));
  typesAndValues.push(toAttribute(OIDS.commonName, commonName));
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
  if (hosts.length > 0) {
    const names = new GeneralNames({ names: hosts.map((host) => toGeneralName(host)) });
    certificate.extensions.push(toExtension(OIDS.subjectAltName, names, false));
  }
  await certificate.subjectPublicKeyInfo.importKey(keys.publicKey, engine);
  const signer = issuer === undefined ? keys.privateKey : await importKey(issuer.key);
  await certificate.sign(signer, 'SHA-256', engine);
  return {
    cert: toPem('CERTIFICATE', certificate.toSchema(true).toBER(false)),
    key: toPem('PRIVATE KEY', await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)),
  };
}

/** A number that is not negative, and has no zeros before it. */
function makeSerial(): ArrayBuffer {
  const bytes = webcrypto.getRandomValues(new Uint8Array(16));
  bytes[0] = (bytes[0]! & 0x3f) | 0x40;
  return bytes.buffer;
}

function toAttribute(type: string, value: string): AttributeTypeAndValue {
  return new AttributeTypeAndValue({ type, value: new Utf8String({ value }) });
}

function toGeneralName(host: string): GeneralName {
  if (isIP(host) === 0) return new GeneralName({ type: DNS_NAME, value: host });
  const valueHex = new Uint8Array(toAddressBytes(host)).buffer;
  return new GeneralName({ type: IP_ADDRESS, value: new OctetString({ valueHex }) });
}

function toExtension(
  extnID: string,
  value: { toSchema(): { toBER(sizeOnly?: boolean): ArrayBuffer } },
  critical: boolean,
): Extension {
  return new Extension({ extnID, critical, extnValue: value.toSchema().toBER(false) });
}

/** The four or sixteen bytes of an address. */
function toAddressBytes(address: string): number[] {
  if (isIP(address) === 4) return address.split('.').map(Number);
  // A URL writes an address of IPv4 at the end in groups, too.
  const plain = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [before = [], after] = plain
    .split('::')
    .map((half) => half.split(':').filter((group) => group !== ''));
  const missing = after === undefined ? 0 : 8 - before.length - after.length;
  const groups = [...before, ...Array.from({ length: missing }, () => '0'), ...(after ?? [])];
  return groups.flatMap((group) => {
    const number = Number.parseInt(group, 16);
    return [number >> 8, number & 0xff];
  });
}

async function importKey(pem: string): Promise<webcrypto.CryptoKey> {
  return webcrypto.subtle.importKey('pkcs8', fromPem(pem), ALGORITHM, false, ['sign']);
}

function toPem(label: string, der: ArrayBuffer): string {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}

function fromPem(pem: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(pem.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64'));
}
