import { isEveryAddress } from './host-port.js';
import { type NetworkTools } from '../network-tools.js';
import { type PacketRules, type PortForward, type RuleSet } from './packet-rules.js';

/** Packet rules as one table of nftables, which is ours alone and replaced in one transaction. */
export class NftablesRules implements PacketRules {
  readonly kind = 'nftables';
  readonly #tools: NetworkTools;
  readonly #nft: string;

  constructor(tools: NetworkTools, nft: string) {
    this.#tools = tools;
    this.#nft = nft;
  }

  async apply(rules: RuleSet, signal?: AbortSignal): Promise<void> {
    await this.#tools.run([this.#nft, '-f', '-'], { input: renderNftables(rules), signal });
  }

  async remove(bridge: string, signal?: AbortSignal): Promise<void> {
    // "add" makes it, unless it is there: then "delete" cannot fail for want of it.
    const input = `add table ip ${bridge}\ndelete table ip ${bridge}\n`;
    await this.#tools.run([this.#nft, '-f', '-'], { input, signal });
  }
}

/** The whole table for a bridge, in the language of nft(8). */
export function renderNftables({ bridge, range, forwards }: RuleSet): string {
  return `add table ip ${bridge}
delete table ip ${bridge}
table ip ${bridge} {
  comment "podloop: pods on ${bridge}"
  chain guard {
    type filter hook prerouting priority -300; policy accept;
    iifname "${bridge}" ip daddr 127.0.0.0/8 drop
  }
  chain ports {
${forwards.map((forward) => `    ${renderForward(forward)}\n`).join('')}  }
  chain arriving {
    type nat hook prerouting priority -100; policy accept;
    fib daddr type local jump ports
  }
  chain local {
    type nat hook output priority -100; policy accept;
    fib daddr type local jump ports
  }
  chain leaving {
    type nat hook postrouting priority 100; policy accept;
    ip saddr ${range} oifname != "${bridge}" masquerade
    oifname "${bridge}" ip saddr ${range} ct status dnat masquerade
    oifname "${bridge}" ip saddr 127.0.0.0/8 masquerade
  }
}
`;
}

function renderForward({ protocol, hostIp, hostPort, address, containerPort }: PortForward): string {
  const destination = isEveryAddress(hostIp) ? '' : `ip daddr ${hostIp} `;
  return `${destination}${protocol} dport ${hostPort} dnat to ${address}:${containerPort}`;
}
