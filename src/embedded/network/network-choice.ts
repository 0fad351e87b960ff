import { PodloopError } from '../../util/errors.js';
import { formatIpv4Range, parseIpv4Range, type Ipv4Range } from './ipv4-range.js';
import { isUsableRange } from './pod-bridge.js';

/** What people may ask for. */
export type NetworkMode = 'auto' | 'bridge' | 'host' | 'none';

/** What sandboxes get. */
export type NetworkKind = 'cni' | 'bridge' | 'host' | 'none';

/** What is told about the network of pods, in Status and at the start. */
export interface NetworkStatus {
  /** Whether sandboxes can be made. */
  readonly ready: boolean;
  readonly mode: NetworkKind;
  /** One word for machines. */
  readonly reason: string;
  /** A sentence or two for people: what pods have, and what they lack. */
  readonly message: string;
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
