import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { certificatesIn, privateKeyIn } from '#base/wire/pem.js';
import { type CertificateSubject, formatName } from './certificate-subject.js';

/** A certificate with its key, and what of it matters to its holder. Times are in milliseconds since the epoch. */
export interface NodeCertificate {
  /** In PEM, those that vouch for it behind it. */
  readonly cert: string;
  /** In PEM. */
  readonly key: string;
  readonly fromMs: number;
  readonly toMs: number;
  /** `O=system:nodes, CN=system:node:here`. */
  readonly name: string;
  readonly x509: X509Certificate;
}

/** Reads a certificate and its key in PEM. Throws an Error that says in words what is wrong, and repeats nothing of them. */
export function readNodeCertificate(certText: string, keyText: string): NodeCertificate {
  const certificates = certificatesIn(certText);
  const [first] = certificates;
  if (first === undefined) throw new Error('holds no certificate in PEM');
  const key = privateKeyIn(keyText);
  if (key === undefined) throw new Error('holds no private key in PEM');
  const x509 = attempt('a certificate that cannot be read', () => new X509Certificate(first));
  const privateKey = attempt('a private key that cannot be read', () => createPrivateKey(key));
  if (!x509.checkPrivateKey(privateKey)) throw new Error('holds a certificate and the key of another one');
  return {
    ...{ cert: `${certificates.join('\n')}\n`, key: `${key}\n`, x509 },
    fromMs: Date.parse(x509.validFrom),
    toMs: Date.parse(x509.validTo),
    name: formatName({ organization: partsOf(x509, 'O'), commonName: partsOf(x509, 'CN') }),
  };
}

/**
 * The values of a kind in the subject. From its text: the object that Node makes of it has Node load parts of `node:tls` in an
 * order in which what comes later lacks `createSecureContext`.
 */
function partsOf({ subject }: X509Certificate, kind: string): string[] {
  const parts = subject.split(/\n| \+ /);
  return parts.filter((part) => part.startsWith(`${kind}=`)).map((part) => part.slice(kind.length + 1));
}

function attempt<Result>(what: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw new Error(`holds ${what}`, { cause: error });
  }
}

/** Whether it has ended, at that time. */
export function isOver({ toMs }: NodeCertificate, nowMs: number): boolean {
  return nowMs >= toMs;
}

/**
 * Whether the first is to be shown rather than the other: it has not ended, or it was made later. Those of some tools all
 * begin with their authority.
 */
export function isBetter(one: NodeCertificate, other: NodeCertificate, nowMs: number): boolean {
  if (isOver(one, nowMs) !== isOver(other, nowMs)) return isOver(other, nowMs);
  return one.fromMs === other.fromMs ? one.toMs > other.toMs : one.fromMs > other.fromMs;
}

/** Whether it is of that subject, with all of its names and addresses; it may have more of them. */
export function isFor({ name, x509 }: NodeCertificate, wanted: CertificateSubject): boolean {
  return (
    name === formatName(wanted) &&
    // Only those that are named themselves.
    wanted.dnsNames.every(
      (host) => x509.checkHost(host, { subject: 'never', wildcards: false }) !== undefined,
    ) &&
    wanted.ips.every((ip) => x509.checkIP(ip) !== undefined)
  );
}

/** Whether it was made for that key. */
export function isOfKey(cert: string, key: KeyObject): boolean {
  const [first] = certificatesIn(cert);
  return first !== undefined && new X509Certificate(first).checkPrivateKey(key);
}
