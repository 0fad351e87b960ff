/**
 * Under which addresses a node is found.
 *
 * Source: https://kubernetes.io/docs/reference/node/node-status/#addresses
 *
 * @module
 */
import { isDeepStrictEqual } from 'node:util';
import { chooseNodeIps, type NodeIpFacts } from '#base/wire/node-ip.js';
import { type NodeAddress } from './node-object.js';

/** The addresses of a node, as {@link chooseNodeIps} has them, and its host name. Throws as that does. Pure. */
export function computeAddresses(facts: NodeIpFacts): NodeAddress[] {
  return [
    ...chooseNodeIps(facts).map((address) => ({ type: 'InternalIP', address })),
    { type: 'Hostname', address: facts.hostname },
  ];
}

/** Address types that a cloud's controller sets, and that no node finds out by itself. */
const OF_OTHERS: ReadonlySet<string> = new Set(['ExternalIP', 'ExternalDNS', 'InternalDNS']);

/**
 * The addresses of a Node that has `previous` and tells `own`: what others have told of it stays, where it does not tell the same
 * of itself; and so does the order, where nothing else would change. Pure.
 */
export function mergeAddresses(
  previous: readonly NodeAddress[],
  own: readonly NodeAddress[],
): readonly NodeAddress[] {
  const ownTypes = new Set(own.map(({ type }) => type));
  const merged = [...own, ...previous.filter(({ type }) => OF_OTHERS.has(type) && !ownTypes.has(type))];
  const sorted = (list: readonly NodeAddress[]): string[] =>
    list.map(({ type, address }) => `${type} ${address}`).sort();
  // Whoever writes them in another order would else be answered for ever.
  const isReordered = isDeepStrictEqual(sorted(previous), sorted(merged));
  return isReordered && isDeepStrictEqual(internalIps(previous), internalIps(own)) ? previous : merged;
}

/**
 * The addresses of a Node that the controller of a cloud completes: what is there stays. Until then it has its host name and those that
 * people have written, with which the controller will agree. Pure.
 */
export function addressesForCloud(
  previous: readonly NodeAddress[],
  own: readonly NodeAddress[],
  nodeIp: string,
): readonly NodeAddress[] {
  if (previous.length > 0) return previous;
  return nodeIp === '' ? own.filter(({ type }) => type === 'Hostname') : own;
}

/** By which pods and the control plane know the node, the first before all. Pure. */
export function internalIps(addresses: readonly NodeAddress[]): readonly string[] {
  return addresses.flatMap(({ type, address }) => (type === 'InternalIP' ? [address] : []));
}
