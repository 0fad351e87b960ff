import { createPrivateKey, generateKeyPair, randomBytes, X509Certificate } from 'node:crypto';
import { promisify } from 'node:util';
import {
  type AsnType,
  Boolean as AsnBoolean,
  fromBER,
  GeneralizedTime,
  Integer,
  ObjectIdentifier,
  Sequence,
  UTCTime,
} from 'asn1js';
import { toPem } from '#base/wire/pem.js';
import {
  OIDS,
  toDistinguishedName,
  toExtension,
  toPublicKeyInfo,
  toSignatureAlgorithm,
  toSigned,
  toSubjectAltName,
  toTagged,
} from '#base/wire/x509-parts.js';

/** Where the subject of a certificate of version 3 is. */
const SUBJECT_FIELD = 5;

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

/** Creates a key (P-256) and an X.509 v3 certificate for it (RFC 5280, section 4.1). */
export async function makeCertificate(facts: CertificateFacts): Promise<CertificatePair> {
  const { commonName, organization, issuer, validFrom, validTo } = facts;
  const { privateKey } = await promisify(generateKeyPair)('ec', { namedCurve: 'P-256' });
  const subject = toDistinguishedName([
    ...(organization === undefined ? [] : [[OIDS.organization, organization] as const]),
    [OIDS.commonName, commonName],
  ]);
  const content = new Sequence({
    value: [
      // That is v3.
      toTagged(0, [new Integer({ value: 2 })]),
      new Integer({ valueHex: makeSerial() }),
      toSignatureAlgorithm(),
      issuer === undefined ? subject : subjectOf(issuer.cert),
      new Sequence({ value: [toTime(validFrom), toTime(validTo)] }),
      subject,
      toPublicKeyInfo(privateKey),
      toTagged(3, [new Sequence({ value: toExtensions(facts) })]),
    ],
  });
  const signer = issuer === undefined ? privateKey : createPrivateKey(issuer.key);
  return {
    cert: toPem('CERTIFICATE', toSigned(content, signer)),
    key: toPem('PRIVATE KEY', privateKey.export({ type: 'pkcs8', format: 'der' })),
  };
}

function toExtensions({ purpose, hosts = [] }: CertificateFacts): Sequence[] {
  const isAuthority = purpose === 'authority';
  const constraints = new Sequence({ value: isAuthority ? [new AsnBoolean({ value: true })] : [] });
  const extensions = [toExtension(OIDS.basicConstraints, constraints, true)];
  if (!isAuthority) {
    const purposes = new Sequence({ value: [new ObjectIdentifier({ value: OIDS[purpose] })] });
    extensions.push(toExtension(OIDS.extKeyUsage, purposes, false));
  }
  if (hosts.length > 0) extensions.push(toSubjectAltName(hosts));
  return extensions;
}

/** A non-negative number without leading zeros. */
function makeSerial(): Buffer {
  const bytes = randomBytes(16);
  bytes[0] = (bytes[0]! & 0x3f) | 0x40;
  return bytes;
}

/** The short form has two digits of the year, up to 2049. Neither may have fractions of a second. */
function toTime(date: Date): UTCTime {
  const valueDate = new Date(Math.floor(date.getTime() / 1_000) * 1_000);
  return valueDate.getUTCFullYear() < 2050 ? new UTCTime({ valueDate }) : new GeneralizedTime({ valueDate });
}

function subjectOf(cert: string): AsnType {
  const certificate = fromBER(new X509Certificate(cert).raw).result as Sequence;
  const fields = (certificate.valueBlock.value[0] as Sequence).valueBlock.value;
  return fields[SUBJECT_FIELD]!;
}
