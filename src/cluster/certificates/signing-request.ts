import { createHash, createPublicKey, type KeyObject } from 'node:crypto';
import { type AsnType, Integer, ObjectIdentifier, Sequence, Set as AsnSet } from 'asn1js';
import { toPem } from '#base/wire/pem.js';
import {
  OIDS,
  toDistinguishedName,
  toPublicKeyInfo,
  toSigned,
  toSubjectAltName,
  toTagged,
} from '#base/wire/x509-parts.js';
import { type CertificateSubject } from './certificate-subject.js';

/** What a certificate is asked for. */
export interface SigningOrder {
  /** Who is to sign: https://kubernetes.io/docs/reference/access-authn-authz/certificate-signing-requests/#kubernetes-signers */
  readonly signerName: string;
  /** What it is to be good for, in Kubernetes' words. */
  readonly usages: readonly string[];
  readonly subject: CertificateSubject;
}

/** What of a client: the API server's clients that are nodes. Keys of ours encipher no others (RFC 8422). */
export const CLIENT_ORDER: Pick<SigningOrder, 'signerName' | 'usages'> = {
  signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
  usages: ['digital signature', 'client auth'],
};
/** What of a server. */
export const SERVING_ORDER: Pick<SigningOrder, 'signerName' | 'usages'> = {
  signerName: 'kubernetes.io/kubelet-serving',
  usages: ['digital signature', 'server auth'],
};

/** A request for a certificate (PKCS#10, RFC 2986) in PEM. `key`: a private one on P-256. */
export function makeSigningRequest(subject: CertificateSubject, key: KeyObject): string {
  const content = new Sequence({
    value: [
      new Integer({ value: 0 }),
      toDistinguishedName([
        [OIDS.organization, subject.organization],
        [OIDS.commonName, subject.commonName],
      ]),
      toPublicKeyInfo(key),
      // Also when there are none: readers in Go want to find the list.
      toTagged(0, toAttributes([...subject.dnsNames, ...subject.ips])),
    ],
  });
  return toPem('CERTIFICATE REQUEST', toSigned(content, key));
}

function toAttributes(hosts: readonly string[]): AsnType[] {
  if (hosts.length === 0) return [];
  const extensions = new Sequence({ value: [toSubjectAltName(hosts)] });
  const values = new AsnSet({ value: [extensions] });
  return [new Sequence({ value: [new ObjectIdentifier({ value: OIDS.extensionRequest }), values] })];
}

/**
 * The name of a request, the same for the same key and order, so that an agent that is started anew finds the one that it has
 * made before. Of a client it is the very name that a kubelet with this key would take.
 */
export function nameSigningRequest({ signerName, usages, subject }: SigningOrder, key: KeyObject): string {
  const { commonName, organization, dnsNames, ips } = subject;
  const isClient = signerName === CLIENT_ORDER.signerName;
  const hash = createHash('sha512-256');
  const parts: (Buffer | string)[] = [publicBytes(key), commonName, organization, ...usages];
  if (!isClient) parts.push(signerName, ...dnsNames, ...ips);
  // What ends a part stands in none of them: no two orders look alike.
  for (const part of parts) hash.update(`${Buffer.from(part).toString('base64url')}|`);
  return `${isClient ? 'node-csr' : 'csr'}-${hash.digest('base64url')}`;
}

function publicBytes(key: KeyObject): Buffer {
  return createPublicKey(key).export({ type: 'spki', format: 'der' });
}
