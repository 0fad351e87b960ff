import { createPublicKey, type KeyObject, sign } from 'node:crypto';
import { isIP } from 'node:net';
import {
  Boolean as AsnBoolean,
  type AsnType,
  BitString,
  Constructed,
  fromBER,
  ObjectIdentifier,
  OctetString,
  Primitive,
  Sequence,
  Set as AsnSet,
  Utf8String,
} from 'asn1js';

/** Object identifiers in certificates and certificate requests. */
export const OIDS = {
  commonName: '2.5.4.3',
  organization: '2.5.4.10',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  extKeyUsage: '2.5.29.37',
  extensionRequest: '1.2.840.113549.1.9.14',
  server: '1.3.6.1.5.5.7.3.1',
  client: '1.3.6.1.5.5.7.3.2',
} as const;
/** ECDSA with SHA-256 (RFC 5758), which has no parameters. */
const SIGNATURE_OID = '1.2.840.10045.4.3.2';
/** The kinds of a GeneralName. */
const [DNS_NAME, IP_ADDRESS] = [2, 7] as const;
/** The class of tags that mean something in their place only. */
const CONTEXT_SPECIFIC = 3;

/** Fields with an explicit tag: `[3]`. */
export function toTagged(tagNumber: number, value: AsnType[]): Constructed {
  return new Constructed({ idBlock: { tagClass: CONTEXT_SPECIFIC, tagNumber }, value });
}

/** A distinguished name (RFC 5280, section 4.1.2.4) from parts, each a kind and a value. */
export function toDistinguishedName(parts: readonly (readonly [type: string, value: string])[]): Sequence {
  const sets = parts.map(([type, value]) => {
    const attribute = [new ObjectIdentifier({ value: type }), new Utf8String({ value })];
    return new AsnSet({ value: [new Sequence({ value: attribute })] });
  });
  return new Sequence({ value: sets });
}

/** A server's names and addresses, as the extension that clients check. */
export function toSubjectAltName(hosts: readonly string[]): Sequence {
  const names = hosts.map((host) => toGeneralName(host));
  return toExtension(OIDS.subjectAltName, new Sequence({ value: names }), false);
}

/** Wraps a value as an extension. `critical`: a reader that does not know it must reject the certificate. */
export function toExtension(oid: string, content: AsnType, critical: boolean): Sequence {
  const value: AsnType[] = [new ObjectIdentifier({ value: oid })];
  // DER leaves out what is the default.
  if (critical) value.push(new AsnBoolean({ value: true }));
  value.push(new OctetString({ valueHex: content.toBER() }));
  return new Sequence({ value });
}

/** The public half of a private key, as certificates and requests have it. */
export function toPublicKeyInfo(key: KeyObject): AsnType {
  return fromBER(createPublicKey(key).export({ type: 'spki', format: 'der' })).result;
}

/** The name of the algorithm of {@link toSigned}. */
export function toSignatureAlgorithm(): Sequence {
  return new Sequence({ value: [new ObjectIdentifier({ value: SIGNATURE_OID })] });
}

/** Signs what a certificate or a request says and returns all of it in DER. `key`: a private one on an elliptic curve. */
export function toSigned(content: Sequence, key: KeyObject): ArrayBuffer {
  if (key.asymmetricKeyType !== 'ec') {
    throw new Error(
      `a certificate is signed with a key on an elliptic curve, not with ${key.asymmetricKeyType}`,
    );
  }
  const signature = sign('sha256', new Uint8Array(content.toBER()), key);
  const parts = [content, toSignatureAlgorithm(), new BitString({ valueHex: signature })];
  return new Sequence({ value: parts }).toBER();
}

function toGeneralName(host: string): Primitive {
  const isName = isIP(host) === 0;
  return new Primitive({
    idBlock: { tagClass: CONTEXT_SPECIFIC, tagNumber: isName ? DNS_NAME : IP_ADDRESS },
    valueHex: isName ? Buffer.from(host, 'latin1') : Uint8Array.from(toAddressBytes(host)),
  });
}

/** The four or sixteen bytes of an address. */
function toAddressBytes(address: string): number[] {
  if (isIP(address) === 4) return address.split('.').map(Number);
  // A URL also writes the IPv4 part at the end of an address in groups.
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
