import { PodloopError } from '#base/errors/errors.js';
import { type CniNetworkList } from './links/attachment-record.js';
import { type CniChoice } from './cni/cni-config.js';
import { formatIpv4Range, parseIpv4Range, type Ipv4Range } from '#base/wire/ipv4-range.js';
import { isUsableRange } from './links/range-choice.js';

/** What people may ask for. */
export type NetworkMode = 'auto' | 'bridge' | 'host' | 'none';

/** What sandboxes get. */
export type NetworkKind = 'cni' | 'bridge' | 'host' | 'none';

/** The state of the pods' network, as reported in Status and at the start. */
export interface NetworkStatus {
  /** Whether sandboxes can be made. */
  readonly ready: boolean;
  readonly mode: NetworkKind;
  /** One word for machines. */
  readonly reason: string;
  /** A sentence or two for people: what pods have, and what they lack. */
  readonly message: string;
}

/** Pods have a loopback interface and nothing else. */
export const ONLY_LOOPBACK: NetworkStatus = {
  ready: true,
  mode: 'none',
  reason: 'OnlyLoopback',
  message: 'each pod has a loopback interface of its own and nothing else, as asked',
};

/** The status where pods cannot, or need not, have networks of their own, and `why`. */
export function describeHostNetwork(mode: NetworkMode, why: string): NetworkStatus {
  if (mode === 'host') {
    const message = 'pods use the host’s network, and their ports are the host’s, as asked';
    return { ready: true, mode: 'host', reason: 'HostNetwork', message };
  }
  if (mode === 'auto') {
    const message = `pods use the host’s network, and their ports are the host’s: ${why}`;
    return { ready: true, mode: 'host', reason: 'NoPodNetwork', message };
  }
  const message = `the network mode "${mode}" is not possible here: ${why}`;
  return { ready: false, mode, reason: 'NetworkUnavailable', message };
}

/** The status of podloop's own bridge. */
export function describeBridge(facts: {
  readonly range: Ipv4Range | undefined;
  /** The program for packet rules, or why there is none. */
  readonly rules: { readonly kind: string } | string;
  /** A configuration of CNI that cannot be used. */
  readonly cni: CniChoice | undefined;
}): NetworkStatus {
  const { range, rules, cni } = facts;
  const where = range === undefined ? 'the first free range' : formatIpv4Range(range);
  const sentences = [
    `pods have addresses of ${where} on a bridge of the runtime’s own, reached by the host and the other pods`,
    typeof rules === 'string'
      ? `host ports are served by one proxy process a pod, and pods do not reach beyond the host: ${rules}`
      : `${rules.kind} serves host ports and lets pods reach beyond the host; ip_forward is on while there are pods`,
  ];
  if (cni?.fault !== undefined) sentences.push(`${cni.path ?? ''} is not used: ${cni.fault}`);
  return { ready: true, mode: 'bridge', reason: 'OwnBridge', message: sentences.join('; ') };
}

/** The status while the configured range is routed elsewhere. */
export function describeRangeFault(fault: string): NetworkStatus {
  return { ready: false, mode: 'bridge', reason: 'PodRangeTaken', message: fault };
}

/** The status of a network that CNI plugins make. */
export function describeCni(list: CniNetworkList, path: string): NetworkStatus {
  const plugins = list.plugins.map(({ type }) => type).join(', ');
  const ports = list.plugins.some(({ capabilities }) => capabilities?.portMappings === true)
    ? 'a plugin serves host ports'
    : 'host ports are served by one proxy process a pod';
  const message = `pods get their network from the CNI plugins ${plugins}, as ${path} says; ${ports}`;
  return { ready: true, mode: 'cni', reason: 'CniPlugins', message };
}

/** Reads the option for the pods' range. Throws OPTION_INVALID. */
export function parsePodCidr(text: string | undefined): Ipv4Range | undefined {
  if (text === undefined || text === '') return undefined;
  const range = parseIpv4Range(text);
  if (range !== undefined && isUsableRange(range) && formatIpv4Range(range) === text) return range;
  throw new PodloopError(
    'OPTION_INVALID',
    `pod range "${text}": give an IPv4 network such as 10.88.0.0/16, with a prefix of 8 to 30`,
  );
}
