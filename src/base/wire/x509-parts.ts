import { isIP } from 'node:net';
import { OctetString, Sequence, Set as AsnSet, Utf8String } from 'asn1js';
import {
  AttributeTypeAndValue,
  Extension,
  GeneralName,
  GeneralNames,
  RelativeDistinguishedNames,
} from 'pkijs';

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
/** The algorithm of keys and signatures. */
export const ECDSA_P256 = { name: 'ECDSA', namedCurve: 'P-256' } as const;
/** The kinds of a GeneralName. */
const [DNS_NAME, IP_ADDRESS] = [2, 7] as const;

/** A distinguished name from parts, each a kind and a value. */
export function toDistinguishedName(
  parts: readonly (readonly [type: string, value: string])[],
): RelativeDistinguishedNames {
  // From attributes, the library would put all parts into one set, which hardly anybody else does.
  const sets = parts.map(([type, value]) => {
    const attribute = new AttributeTypeAndValue({ type, value: new Utf8String({ value }) });
    return new AsnSet({ value: [attribute.toSchema()] });
  });
  return RelativeDistinguishedNames.fromBER(new Sequence({ value: sets }).toBER(false));
}

/** A server's names and addresses, as the extension that clients check. */
export function toSubjectAltName(hosts: readonly string[]): Extension {
  return toExtension(
    OIDS.subjectAltName,
    new GeneralNames({ names: hosts.map((host) => toGeneralName(host)) }),
    false,
  );
}

/** Wraps a value as an extension. `critical`: a reader that does not know it must reject the certificate. */
export function toExtension(
  extnID: string,
  value: { toSchema(): { toBER(sizeOnly?: boolean): ArrayBuffer } },
  critical: boolean,
): Extension {
  return new Extension({ extnID, critical, extnValue: value.toSchema().toBER(false) });
}

function toGeneralName(host: string): GeneralName {
  if (isIP(host) === 0) return new GeneralName({ type: DNS_NAME, value: host });
  const valueHex = new Uint8Array(toAddressBytes(host)).buffer;
  return new GeneralName({ type: IP_ADDRESS, value: new OctetString({ valueHex }) });
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
