import { isIPv6 } from 'node:net';

/** The part of an IPv6 address that names a network; a machine there can use all of its addresses. */
const NETWORK_GROUPS = 4;
const GROUPS = 8;

/**
 * An IPv4 address in its usual form, as a server for both families sees `::ffff:192.0.2.7`; any other
 * unchanged.
 */
export function withoutPrefix(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/, '');
}

/**
 * The part of an address that identifies a peer: an IPv4 address, or the first 64 bits of an IPv6 address.
 * Pure.
 *
 * IPv4 includes the form in which a server for both families sees it. Anything else stays as it is.
 */
export function peerNetworkOf(address: string): string {
  const plain = withoutPrefix(address);
  if (!isIPv6(plain)) return plain;
  const [head = '', tail] = plain.replace(/%.*$/, '').split('::');
  const groupsOf = (text: string): string[] => (text === '' ? [] : text.split(':'));
  const [first, last] = [groupsOf(head), groupsOf(tail ?? '')];
  const zeros = Array.from({ length: Math.max(0, GROUPS - first.length - last.length) }, () => '0');
  const groups = tail === undefined ? first : [...first, ...zeros, ...last];
  const network = groups.slice(0, NETWORK_GROUPS).map((group) => Number.parseInt(group, 16).toString(16));
  return `${network.join(':')}::/64`;
}
