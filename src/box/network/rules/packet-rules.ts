import { type HostPort } from '../links/attachment-record.js';

/** Everything that the packet rules of one bridge say; they are always written as a whole. */
export interface RuleSet {
  /** The bridge's name, by which our tables and chains are known. */
  readonly bridge: string;
  /** The range of the pods as text. */
  readonly range: string;
  readonly forwards: readonly PortForward[];
}

/** What comes in at a port of the host goes to a pod. */
export interface PortForward extends HostPort {
  readonly address: string;
}

/** The kernel's packet filter, as one of its programs writes it. */
export interface PacketRules {
  readonly kind: 'iptables' | 'nftables';
  /** Replaces what stood there for this bridge by this set, at once; makes it when there was none. */
  apply(rules: RuleSet, signal?: AbortSignal): Promise<void>;
  /** Takes away all that is there for this bridge; that there is nothing is fine. */
  remove(bridge: string, signal?: AbortSignal): Promise<void>;
}
