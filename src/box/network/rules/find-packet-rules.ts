import { renderIptables, IptablesRules } from './iptables-rules.js';
import { findProgram } from '#base/proc/find-program.js';
import { type NetworkTools } from '../network-tools.js';
import { NftablesRules, renderNftables } from './nftables-rules.js';
import { type PacketRules, type RuleSet } from './packet-rules.js';

/** What the tries are made with: every kind of rule once. */
const SAMPLE: RuleSet = {
  bridge: 'podloop00000000',
  range: '10.88.0.0/16',
  forwards: [
    { protocol: 'tcp', hostIp: '127.0.0.1', hostPort: 1, containerPort: 1, address: '10.88.0.2' },
    { protocol: 'udp', hostIp: '', hostPort: 1, containerPort: 1, address: '10.88.0.2' },
  ],
};

/**
 * Finds a program that writes packet rules and with which all of ours work, tried out in a network namespace of its
 * own. A string says why there is none.
 *
 * iptables comes first: where others drop forwarded packets in its chains, only a rule in these lets them through.
 */
export async function findPacketRules(tools: NetworkTools): Promise<PacketRules | string> {
  const [restore, save, nft] = await Promise.all(
    ['iptables-restore', 'iptables-save', 'nft'].map((name) => findProgram(name, tools.path)),
  );
  if (!(await tools.canWriteSettings()))
    return 'ip_forward cannot be changed, since /proc/sys is read-only here';
  const faults: string[] = [];
  if (restore !== undefined && save !== undefined) {
    const fault = await tools.tryOut([restore, '--noflush'], renderIptables(SAMPLE, ''));
    if (fault === undefined) return new IptablesRules(tools, { restore, save });
    faults.push(fault);
  }
  if (nft !== undefined) {
    const fault = await tools.tryOut([nft, '-f', '-'], renderNftables(SAMPLE));
    if (fault === undefined) return new NftablesRules(tools, nft);
    faults.push(fault);
  }
  return faults.length === 0 ? 'there is neither iptables nor nft' : faults.join('; ');
}
