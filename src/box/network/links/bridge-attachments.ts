import { messageOf } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { Mutex } from '#base/async/mutex.js';
import { type ProcessIdentity } from '../../process/child-identity.js';
import { refused } from '../../rpc-error.js';
import { type AttachmentRecord, type HostPort } from './attachment-record.js';
import { type AttachmentStore } from './attachment-store.js';
import { refuseTakenPorts } from '../rules/host-port.js';
import { formatIpv4, formatIpv4Range, parseIpv4 } from '#base/wire/ipv4-range.js';
import { hostLinkSettings } from './link-settings.js';
import { type NetworkTools } from '../network-tools.js';
import { type PacketRules, type PortForward } from '../rules/packet-rules.js';
import { type PodBridge } from './pod-bridge.js';
import { type PortProxies } from '../rules/port-proxies.js';
import { findFreeAddress, isSandboxLink, linkNameOf, plugIn } from './sandbox-link.js';
import { UnwrittenSettings } from './unwritten-settings.js';

/** What {@link BridgeAttachments} needs. */
export interface BridgeAttachmentsOptions {
  readonly store: AttachmentStore;
  readonly bridge: PodBridge;
  readonly tools: NetworkTools;
  readonly proxies: PortProxies;
  /** Undefined where there is no program for packet rules. */
  readonly rules: PacketRules | undefined;
  readonly logger: Logger;
}

/** A sandbox that is to get an address. */
export interface NewAttachment {
  readonly sandboxId: string;
  readonly bootId: string;
  readonly holder: ProcessIdentity;
  readonly hostPorts: readonly HostPort[];
}

/** How many links get their settings from one process: its arguments name each file, and their size is limited. */
const LINKS_PER_CALL = 50;

/** Hangs sandboxes on our own bridge, and takes them off again. */
export class BridgeAttachments {
  readonly #options: BridgeAttachmentsOptions;
  /** The bridge is made, and removed with the last sandbox, by one at a time. */
  readonly #bridgeTurn = new Mutex();
  readonly #rulesTurn = new Mutex();
  /** Sandboxes whose forwards are being taken away while their record still stands. */
  readonly #leaving = new Set<string>();
  readonly #unwritten: UnwrittenSettings;
  #lastAddress = 0;

  constructor(options: BridgeAttachmentsOptions) {
    this.#options = options;
    this.#unwritten = new UnwrittenSettings({
      logger: options.logger,
      message: 'A pod may be sent false routes, or send them: settings of its link cannot be written',
    });
  }

  /** Rejects half done, with a record of what there may be: {@link detach} undoes it. */
  async attach(wanted: NewAttachment, signal: AbortSignal): Promise<readonly string[]> {
    const record = await this.#claim(wanted, signal);
    const [address = ''] = record.ips;
    // The ports first: they are what is most likely to be taken.
    if (record.hostPorts.length > 0) await this.#openPorts(record, address, signal);
    await this.#plugIn(record, address, signal);
    await this.#forward(record, signal);
    return record.ips;
  }

  /** Undoes what a record stands for; what is gone already is fine. */
  async detach(record: AttachmentRecord): Promise<void> {
    const { store, tools, proxies } = this.#options;
    const { sandboxId } = record;
    this.#leaving.add(sandboxId);
    try {
      await proxies.stop(sandboxId);
      await this.#forward(record);
      await tools.deleteLink(linkNameOf(sandboxId));
      await store.delete(sandboxId);
    } finally {
      this.#leaving.delete(sandboxId);
    }
    await this.removeIdleBridge();
  }

  /**
   * Undoes what can be found by a sandbox's id alone, for a record that cannot be read, and puts that aside. What CNI
   * plugins may keep of it is not given back.
   */
  async detachUnknown(sandboxId: string): Promise<void> {
    const { store, tools, proxies, logger } = this.#options;
    await proxies.stop(sandboxId);
    await tools.deleteLink(linkNameOf(sandboxId));
    await store.setAside(sandboxId);
    logger.warn('Network undone without its record: what CNI plugins keep is left', { sandboxId });
    await this.removeIdleBridge();
  }

  /** Makes sure of the bridge, its rules and the links on it; takes off it what no record names. */
  async restore(): Promise<void> {
    const { store, bridge, tools, rules, logger } = this.#options;
    for (const orphan of await bridge.removeOrphans()) await rules?.remove(orphan);
    const known = new Set(this.#records.map(({ sandboxId }) => linkNameOf(sandboxId)));
    const unjudged = new Set([...store.unreadable].map(linkNameOf));
    for (const name of await bridge.listPorts()) {
      // What is left in the end are links that have fallen off.
      if (!isSandboxLink(name) || known.delete(name) || unjudged.has(name)) continue;
      logger.warn('Removing a link that belongs to no sandbox', { link: name });
      await tools.deleteLink(name);
    }
    for (const record of this.#records) {
      if (rules === undefined && record.portsBy === 'rules') await store.put({ ...record, portsBy: 'proxy' });
    }
    await this.removeIdleBridge();
    if (this.#records.length === 0) return;
    const { name: bridgeName } = await this.#bridgeTurn.run(() => this.#ensureBridge());
    // Those that still hang on it may be of an earlier version, which did not write all of the settings.
    const links = this.#records.map(({ sandboxId }) => linkNameOf(sandboxId));
    for (let start = 0; start < links.length; start += LINKS_PER_CALL)
      await this.#settle(links.slice(start, start + LINKS_PER_CALL), []);
    for (const link of known)
      await this.#settle(
        [link],
        [`link set dev ${link} master ${bridgeName} up`, `link set dev ${link} type bridge_slave hairpin on`],
      );
  }

  /** Writes the settings of links and runs lines of `ip`. Does not reject: other sandboxes must not wait for these. */
  async #settle(links: readonly string[], lines: readonly string[]): Promise<void> {
    const { tools, logger } = this.#options;
    const link = links.join(' ');
    try {
      const unset = await tools.ipBatchWithSettings({ settings: links.flatMap(hostLinkSettings), lines }, {});
      this.#unwritten.log(unset, { link });
    } catch (error) {
      const message = lines.length > 0 ? 'Sandbox is not connected' : 'Settings of links are not restored';
      logger.warn(message, { link, err: messageOf(error) });
    }
  }

  /** Takes the bridge away when nothing hangs on it. */
  async removeIdleBridge(): Promise<void> {
    const { bridge, rules, store } = this.#options;
    await this.#bridgeTurn.run(async () => {
      const { name } = bridge;
      if (name === undefined || this.#records.length > 0 || store.unreadable.size > 0) return;
      await rules?.remove(name);
      await bridge.remove();
    });
  }

  get #records(): readonly AttachmentRecord[] {
    return this.#options.store.all.filter(({ cni }) => cni === undefined);
  }

  /** Writes down address and ports before anything is made; from here on nobody else gets them. */
  async #claim(wanted: NewAttachment, signal: AbortSignal): Promise<AttachmentRecord> {
    const { store, rules } = this.#options;
    refuseTakenPorts(wanted.hostPorts, store.all);
    const { record, written } = await this.#bridgeTurn.run(async () => {
      signal.throwIfAborted();
      const { range } = await this.#ensureBridge(signal);
      // No await from here to `put`: it claims address and ports at once.
      refuseTakenPorts(wanted.hostPorts, store.all);
      const used = new Set(this.#records.flatMap(({ ips }) => ips));
      const address = findFreeAddress(range, used, this.#lastAddress);
      if (address === undefined)
        throw refused(
          `the pod range ${formatIpv4Range(range)} is used up: ${used.size} sandboxes have addresses`,
        );
      this.#lastAddress = address;
      const record: AttachmentRecord = {
        ...wanted,
        ips: [formatIpv4(address)],
        portsBy: choosePortsBy(wanted.hostPorts, rules),
      };
      return { record, written: store.put(record) };
    });
    await written;
    return record;
  }

  async #openPorts(record: AttachmentRecord, address: string, signal: AbortSignal): Promise<void> {
    const { proxies } = this.#options;
    if (record.portsBy === 'proxy') await proxies.start(record, address, signal);
    else await proxies.check(record.hostPorts, signal);
  }

  async #plugIn(record: AttachmentRecord, address: string, signal: AbortSignal): Promise<void> {
    const { bridge, tools, logger } = this.#options;
    const once = async (): Promise<void> => {
      const { name, range, gateway } = await this.#bridgeTurn.run(() => this.#ensureBridge(signal));
      const { sandboxId, holder } = record;
      const hairpin = record.portsBy === 'rules' && record.hostPorts.length > 0;
      const place = { bridge: name, range, gateway, mtu: bridge.mtu };
      const link = { sandboxId, holderPid: holder.pid, address, hairpin, ...place };
      this.#unwritten.log(await plugIn(tools, link, signal), { sandboxId });
    };
    try {
      await once();
    } catch (error) {
      signal.throwIfAborted();
      // Somebody may have removed the bridge: look at everything again, and try once more.
      logger.warn('Sandbox not connected at once', { sandboxId: record.sandboxId, err: messageOf(error) });
      bridge.doubt();
      await tools.deleteLink(linkNameOf(record.sandboxId), signal);
      await once();
    }
  }

  async #ensureBridge(signal?: AbortSignal): ReturnType<PodBridge['ensure']> {
    const { bridge, rules } = this.#options;
    if (bridge.isUp) return bridge.ensure(signal);
    try {
      const made = await bridge.ensure(signal);
      if (rules === undefined) return made;
      await this.#applyRules(signal);
      await bridge.enableRouting(signal);
      return made;
    } catch (error) {
      bridge.doubt();
      throw error;
    }
  }

  /** Brings the rules in line with a sandbox that has come, or is leaving. */
  async #forward({ portsBy, hostPorts }: AttachmentRecord, signal?: AbortSignal): Promise<void> {
    if (portsBy !== 'rules' || hostPorts.length === 0) return;
    await this.#applyRules(signal);
    for (const { protocol, hostPort } of hostPorts) {
      if (protocol === 'udp') await this.#options.tools.forgetUdpFlows(hostPort, signal);
    }
  }

  /** Writes the rules as the records want them now. */
  #applyRules(signal?: AbortSignal): Promise<void> {
    const { bridge, rules } = this.#options;
    return this.#rulesTurn.run(async () => {
      const { name, range } = bridge;
      if (rules === undefined || name === undefined || range === undefined) return;
      const records = this.#records.filter(({ sandboxId }) => !this.#leaving.has(sandboxId));
      await rules.apply(
        { bridge: name, range: formatIpv4Range(range), forwards: records.flatMap(toForwards) },
        signal,
      );
    });
  }
}

function toForwards({ portsBy, hostPorts, ips: [address = ''] }: AttachmentRecord): PortForward[] {
  return portsBy === 'rules' ? hostPorts.map((port) => ({ ...port, address })) : [];
}

/** Who is to serve host ports where there are programs for packet rules, or not. */
export function choosePortsBy(
  hostPorts: readonly HostPort[],
  rules: PacketRules | undefined,
): AttachmentRecord['portsBy'] {
  return rules === undefined || !hostPorts.every(isForRules) ? 'proxy' : 'rules';
}

/** Rules are for IPv4 only: a port at an IPv6 address of the host needs a proxy. */
function isForRules({ hostIp }: HostPort): boolean {
  return hostIp === '' || parseIpv4(hostIp) !== undefined;
}
