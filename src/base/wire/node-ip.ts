/**
 * Chooses the addresses of the node, for its Node, its pods and its probes alike.
 *
 * Source: https://kubernetes.io/docs/reference/node/node-status/#addresses
 *
 * @module
 */
import { BlockList, isIP, isIPv6 } from 'node:net';
import { type NetworkInterfaceInfo } from 'node:os';
import { findDefaultLink } from '../proc/net-tables.js';

/** The machine's interfaces, in the form of `os.networkInterfaces()`. */
export type Interfaces = Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>;

/** The input for choosing a node's addresses. */
export interface NodeIpFacts {
  /** The configured addresses: one, or one of each family; empty to choose automatically. */
  readonly nodeIps: readonly string[];
  readonly hostname: string;
  readonly interfaces: Interfaces;
  /** The addresses of the node's name in the machine's name service. */
  readonly ofName: readonly string[];
  /** The text of /proc/net/route; empty if there is none. */
  readonly route: string;
}

const REFUSED: readonly [why: string, list: BlockList][] = [
  ['a loopback address', blockList(['127.0.0.0', 8, 'ipv4'], ['::1', 128, 'ipv6'])],
  ['a multicast address', blockList(['224.0.0.0', 4, 'ipv4'], ['ff00::', 8, 'ipv6'])],
  ['a link-local unicast address', blockList(['169.254.0.0', 16, 'ipv4'], ['fe80::', 10, 'ipv6'])],
  ['an all zeros address', blockList(['0.0.0.0', 32, 'ipv4'], ['::', 128, 'ipv6'])],
];

/** Splits configured addresses at commas; none for an empty text. Pure. */
export function splitNodeIps(text: string): readonly string[] {
  return text
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
}

/**
 * Chooses the addresses of a node. IPv4 comes before IPv6. Pure.
 *
 * In order of preference: the configured ones, else the node's name if it is an address, else the addresses
 * of that name, else the first one of the default route's interface, else the first one of any interface.
 * Throws an Error if there is none, or if a configured one cannot be used.
 */
export function chooseNodeIps(facts: NodeIpFacts): readonly string[] {
  const { nodeIps, interfaces } = facts;
  for (const ip of nodeIps) {
    const problem = findIpProblem(ip, interfaces);
    if (problem !== undefined) throw new Error(`failed to validate nodeIP: ${problem}`);
  }
  return nodeIps.length > 0 ? nodeIps : [findIp(facts)];
}

/** Why no node can have this address, in the kubelet's words; undefined if it can. Pure. */
export function findIpProblem(ip: string, interfaces: Interfaces): string | undefined {
  const family = isIP(ip);
  if (family === 0) return 'nodeIP must be a valid IP address';
  for (const [why, list] of REFUSED) {
    if (list.check(ip, family === 6 ? 'ipv6' : 'ipv4')) return `nodeIP can't be ${why}`;
  }
  const isOwn = addressesOf(interfaces).some(({ address }) => address === ip || isSameIpv6(address, ip));
  return isOwn ? undefined : `node IP: "${ip}" not found in the host's network interfaces`;
}

/** The machine's addresses that a node can have, in the order of its interfaces. Pure. */
export function usableAddresses(interfaces: Interfaces): readonly string[] {
  const all = addressesOf(interfaces).map(({ address }) => address);
  return all.filter((ip) => findIpProblem(ip, interfaces) === undefined);
}

function findIp({ hostname, interfaces, ofName, route }: NodeIpFacts): string {
  if (isIP(hostname) !== 0) return hostname;
  const isFine = (ip: string): boolean => findIpProblem(ip, interfaces) === undefined;
  const own = (list: readonly NetworkInterfaceInfo[]): string[] => list.map(({ address }) => address);
  const defaultInterface = findDefaultLink(route);
  const sources = [
    ofName,
    own(defaultInterface === undefined ? [] : (interfaces[defaultInterface] ?? [])),
    own(addressesOf(interfaces)),
  ];
  for (const source of sources) {
    const usable = source.filter(isFine);
    const [first] = [...usable.filter((ip) => isIP(ip) === 4), ...usable];
    if (first !== undefined) return first;
  }
  throw new Error(
    "can't get ip address of node: the machine has no address but its own loopback; give one with --node-ip",
  );
}

function addressesOf(interfaces: Interfaces): NetworkInterfaceInfo[] {
  return Object.values(interfaces).flatMap((list) => list ?? []);
}

/** Normalizes before comparing: `2001:db8:0::1` is `2001:db8::1`. */
function isSameIpv6(one: string, other: string): boolean {
  if (!isIPv6(one) || !isIPv6(other)) return false;
  const list = new BlockList();
  list.addAddress(one, 'ipv6');
  return list.check(other, 'ipv6');
}

function blockList(...ranges: readonly [string, number, 'ipv4' | 'ipv6'][]): BlockList {
  const list = new BlockList();
  for (const [net, prefix, family] of ranges) list.addSubnet(net, prefix, family);
  return list;
}
