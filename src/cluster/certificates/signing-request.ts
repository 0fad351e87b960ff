import { createHash, createPublicKey, type KeyObject, webcrypto } from 'node:crypto';
import { Attribute, CertificationRequest, CryptoEngine, Extensions } from 'pkijs';
import { toPem } from '#base/wire/pem.js';
import { ECDSA_P256, OIDS, toDistinguishedName, toSubjectAltName } from '#base/wire/x509-parts.js';
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

/** A request for a certificate (PKCS#10) in PEM. `key`: a private one on P-256. */
export async function makeSigningRequest(subject: CertificateSubject, key: KeyObject): Promise<string> {
  const engine = new CryptoEngine({ name: 'node', crypto: webcrypto });
  const request = new CertificationRequest();
  request.version = 0;
  request.subject = toDistinguishedName([
    [OIDS.organization, subject.organization],
    [OIDS.commonName, subject.commonName],
  ]);
  const hosts = [...subject.dnsNames, ...subject.ips];
  // Also when there are none: readers in Go want to find the list.
  request.attributes = [];
  if (hosts.length > 0) {
    const extensions = new Extensions({ extensions: [toSubjectAltName(hosts)] });
    request.attributes = [new Attribute({ type: OIDS.extensionRequest, values: [extensions.toSchema()] })];
  }
  const { subtle } = webcrypto;
  const publicKey = await subtle.importKey('spki', publicBytes(key), ECDSA_P256, true, ['verify']);
  await request.subjectPublicKeyInfo.importKey(publicKey, engine);
  const pkcs8 = key.export({ type: 'pkcs8', format: 'der' });
  await request.sign(await subtle.importKey('pkcs8', pkcs8, ECDSA_P256, false, ['sign']), 'SHA-256', engine);
  return toPem('CERTIFICATE REQUEST', request.toSchema().toBER(false));
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
