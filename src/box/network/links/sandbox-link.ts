import { formatIpv4, type Ipv4Range } from '#base/wire/ipv4-range.js';
import { hostLinkSettings, podLinkSettings } from './link-settings.js';
import { type NetworkTools } from '../network-tools.js';

/** What {@link plugIn} needs. */
export interface SandboxLink {
  readonly sandboxId: string;
  readonly holderPid: number;
  readonly bridge: string;
  readonly range: Ipv4Range;
  readonly gateway: string;
  readonly mtu: number;
  readonly address: string;
  /** Whether packets may go back to where they came from: a pod that asks its own host port. */
  readonly hairpin: boolean;
}

/** How links that are ours begin, on the host's side. */
const PREFIX = 'plv';

/** The name of the host's end of a sandbox's link: as much of the id as fits. */
export function linkNameOf(sandboxId: string): string {
  return `${PREFIX}${sandboxId.slice(0, 12)}`;
}

/** Whether a link on our bridge was made by {@link plugIn}. */
export function isSandboxLink(name: string): boolean {
  return name.startsWith(PREFIX);
}

/**
 * Connects a sandbox to the bridge: `eth0` with its address, a default route through the gateway, loopback up.
 * Resolves with the files of settings that could not be written.
 */
export async function plugIn(
  tools: NetworkTools,
  link: SandboxLink,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { sandboxId, holderPid, bridge, range, gateway, mtu, address, hairpin } = link;
  const name = linkNameOf(sandboxId);
  const peer = `peer name eth0 netns ${holderPid} address ${macOf(address)} mtu ${mtu}`;
  const unsetOnHost = await tools.ipBatchWithSettings(
    {
      first: [`link add name ${name} mtu ${mtu} type veth ${peer}`],
      settings: hostLinkSettings(name),
      lines: [
        `link set dev ${name} master ${bridge} up`,
        // A pod may be one of those behind the address that it connects to.
        `link set dev ${name} type bridge_slave hairpin on`,
        ...(hairpin ? [`link set dev ${name} type bridge_slave hairpin on`] : []),
      ],
    },
    { signal },
  );
  const unsetInPod = await tools.ipBatchWithSettings(
    {
      settings: podLinkSettings('eth0'),
      lines: [
        'link set dev lo up',
        `addr add ${address}/${range.prefix} brd + dev eth0`,
        'link set dev eth0 up',
        `route add default via ${gateway}`,
      ],
    },
    { holderPid, signal },
  );
  return [...unsetOnHost, ...unsetInPod];
}

/** Brings up the loopback interface of a sandbox. */
export async function raiseLoopback(
  tools: NetworkTools,
  holderPid: number,
  signal: AbortSignal,
): Promise<void> {
  await tools.ipBatch(['link set dev lo up'], { holderPid, signal });
}

/** The first free address behind `after`, going round; undefined when the range is used up. */
export function findFreeAddress(
  range: Ipv4Range,
  used: ReadonlySet<string>,
  after: number,
): number | undefined {
  // The first is the network's, the second the gateway's, the last is for broadcasts.
  const first = range.network + 2;
  const count = 2 ** (32 - range.prefix) - 3;
  const start = after >= first && after < first + count ? after - first + 1 : 0;
  for (let step = 0; step < Math.min(count, used.size + 1); step++) {
    const address = first + ((start + step) % count);
    if (!used.has(formatIpv4(address))) return address;
  }
  return undefined;
}

/** Made from the address, so that no neighbour's memory is wrong when the address goes to another pod. */
function macOf(address: string): string {
  const bytes = address.split('.').map((part) => Number(part).toString(16).padStart(2, '0'));
  return `0e:70:${bytes.join(':')}`;
}
