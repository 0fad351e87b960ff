import { type PodSandboxConfig } from '#watch/messages';
import { findProcess } from '../../process/child-identity.js';
import { choosePortsBy, type BridgeAttachmentsOptions } from './bridge-attachments.js';
import { toHostPorts } from '../rules/host-port.js';
import { contains, parseIpv4 } from '#base/wire/ipv4-range.js';
import { linkNameOf } from './sandbox-link.js';

/** A sandbox that is there, with its holder. */
export interface LiveSandbox {
  readonly id: string;
  readonly holderPid: number;
  /** What it was made from; undefined when its own record was lost. */
  readonly config?: PodSandboxConfig | undefined;
}

/** What {@link repairAttachments} works with. */
export interface RepairOptions extends BridgeAttachmentsOptions {
  readonly bootId: string;
}

/**
 * Rewrites unreadable records of live sandboxes on podloop's bridge: it reads their addresses inside,
 * so that nobody else gets them. What hangs elsewhere cannot be judged and is left alone. Never rejects.
 */
export async function repairAttachments(
  options: RepairOptions,
  liveSandboxes: readonly LiveSandbox[],
): Promise<void> {
  const { store, logger } = options;
  for (const sandbox of liveSandboxes) {
    if (!store.unreadable.has(sandbox.id)) continue;
    const fields = { sandboxId: sandbox.id };
    try {
      const fault = await repair(options, sandbox);
      if (fault === undefined) logger.info('Record of a network attachment written again', fields);
      else logger.warn('Network of a sandbox left as it is', { ...fields, reason: fault });
    } catch (error) {
      logger.error('Record of a network attachment not written again', error, fields);
    }
  }
}

/** Why the record cannot be known; undefined when it is. */
async function repair(options: RepairOptions, sandbox: LiveSandbox): Promise<string | undefined> {
  const { store, bridge, tools, proxies, rules, bootId } = options;
  const { id, holderPid, config } = sandbox;
  const { range } = bridge;
  const holder = findProcess(holderPid);
  if (holder === undefined) return 'its holder is gone';
  if (range === undefined || !(await bridge.listPorts()).includes(linkNameOf(id)))
    return 'it does not hang on our bridge';
  const address = await tools.findAddress(holderPid, 'eth0');
  const number = parseIpv4(address ?? '');
  if (address === undefined || number === undefined) return 'it has no address';
  if (!contains(range, number)) return `its address ${address} is not of our range`;
  const hostPorts = toHostPorts(config?.portMappings ?? []);
  const portsBy = (await proxies.isRunning(id)) ? 'proxy' : choosePortsBy(hostPorts, rules);
  const { pid, startTicks } = holder;
  await store.put({ sandboxId: id, bootId, holder: { pid, startTicks }, ips: [address], hostPorts, portsBy });
  return undefined;
}
