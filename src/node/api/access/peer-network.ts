import { isIPv6 } from 'node:net';

/** Of an IPv6 address the part that names a network; whoever has one machine there has all its addresses. */
const NETWORK_GROUPS = 4;
const GROUPS = 8;

/** An IPv4 address as it is known, where a server that listens for both families sees `::ffff:192.0.2.7`; any other as it stands. */
export function withoutPrefix(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/, '');
}

/**
 * Who is taken for one peer: an IPv4 address, also in the form in which a server for both families sees it, or the first 64 bits of
 * an IPv6 address. What is no address stays as it is. Pure.
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
