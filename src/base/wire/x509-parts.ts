import { isIP } from 'node:net';
import { OctetString, Sequence, Set as AsnSet, Utf8String } from 'asn1js';
import {
  AttributeTypeAndValue,
  Extension,
  GeneralName,
  GeneralNames,
  RelativeDistinguishedNames,
} from 'pkijs';

/** What parts of certificates and of requests for them are called. */
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
/** What keys are made for and signed with. */
export const ECDSA_P256 = { name: 'ECDSA', namedCurve: 'P-256' } as const;
/** Kinds of a GeneralName. */
const [DNS_NAME, IP_ADDRESS] = [2, 7] as const;

/** A name of these parts, each a kind and a value. */
export function toDistinguishedName(
  parts: readonly (readonly [type: string, value: string])[],
): RelativeDistinguishedNames {
  // Made of attributes, one would be made in which all parts are one, as only few others write it.
  const sets = parts.map(([type, value]) => {
    const attribute = new AttributeTypeAndValue({ type, value: new Utf8String({ value }) });
    return new AsnSet({ value: [attribute.toSchema()] });
  });
  return RelativeDistinguishedNames.fromBER(new Sequence({ value: sets }).toBER(false));
}

/** Names and addresses of a server, as the extension that clients look at. */
export function toSubjectAltName(hosts: readonly string[]): Extension {
  return toExtension(
    OIDS.subjectAltName,
    new GeneralNames({ names: hosts.map((host) => toGeneralName(host)) }),
    false,
  );
}

/** Anything as an extension. `critical`: who does not know it must not go by the certificate. */
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
