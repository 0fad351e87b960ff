import { type PodSandboxConfig } from '#watch/messages';
import { isAlive } from '../../process/child-identity.js';
import { refused } from '../../rpc-error.js';
import { type AttachmentRecord, type CniNetworkList, type CniResult } from '../links/attachment-record.js';
import { type AttachmentStore } from '../links/attachment-store.js';
import { type NewAttachment } from '../links/bridge-attachments.js';
import { callCniPlugin, type CniPluginCall } from './cni-plugin-call.js';
import { toCniArgs, toCniCapabilities } from './cni-request.js';
import { refuseTakenPorts } from '../rules/host-port.js';
import { type NetworkTools } from '../network-tools.js';
import { type PortProxies } from '../rules/port-proxies.js';
import { raiseLoopback } from '../links/sandbox-link.js';

/** What {@link CniAttachments} needs. */
export interface CniAttachmentsOptions {
  readonly store: AttachmentStore;
  readonly tools: NetworkTools;
  readonly proxies: PortProxies;
  /** Folders with plugins, with colons between them. */
  readonly binDirs: string;
  /** The id of this boot: holders of another one are gone. */
  readonly bootId: string;
}

/** Plugins of these versions do not know CHECK. */
const VERSIONS_WITHOUT_CHECK = ['0.3.0', '0.3.1'];

type Call = Omit<CniPluginCall, 'previous'>;

/**
 * Lets the plugins of a network configuration list make the network of sandboxes, and take it away, as section 3 of
 * the CNI specification 1.0 says: ADD from first to last, each with the result of the one before; DEL from last to
 * first with the result of the last ADD.
 */
export class CniAttachments {
  readonly #options: CniAttachmentsOptions;

  constructor(options: CniAttachmentsOptions) {
    this.#options = options;
  }

  /** Rejects half done, with a record of what there may be: {@link detach} undoes it. */
  async attach(
    wanted: NewAttachment,
    { list, config }: { list: CniNetworkList; config: PodSandboxConfig },
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const { store, tools, proxies, binDirs } = this.#options;
    const { sandboxId, holder, hostPorts } = wanted;
    const servesPorts = list.plugins.some(({ capabilities }) => capabilities?.portMappings === true);
    const cni = {
      list,
      binDirs,
      args: toCniArgs(sandboxId, config),
      capabilities: toCniCapabilities(config, hostPorts),
    };
    const intent: AttachmentRecord = { ...wanted, ips: [], portsBy: servesPorts ? 'plugin' : 'proxy', cni };
    refuseTakenPorts(hostPorts, store.all);
    await store.put(intent);
    if (hostPorts.length > 0) await proxies.check(hostPorts, signal);
    await raiseLoopback(tools, holder.pid, signal);
    const result = await this.#add(intent, signal);
    const ips = toIps(result);
    const record: AttachmentRecord = { ...intent, ips, cni: { ...cni, result } };
    await store.put(record);
    if (hostPorts.length > 0 && !servesPorts) await proxies.start(record, ips[0]!, signal);
    return ips;
  }

  /** Undoes what a record stands for. Every plugin is asked, even when one fails; then the record stays. */
  async detach(record: AttachmentRecord): Promise<void> {
    const { store, proxies, tools } = this.#options;
    await proxies.stop(record.sandboxId);
    const faults: unknown[] = [];
    const { list, result } = record.cni ?? {};
    // As CHECK, it came with the version that first said so.
    const previous = VERSIONS_WITHOUT_CHECK.includes(list?.cniVersion ?? '') ? undefined : result;
    for (const call of this.#callsOf(record, 'DEL').reverse()) {
      await callCniPlugin(tools, { ...call, previous }).catch((error: unknown) => faults.push(error));
    }
    if (faults.length > 0) throw faults[0];
    await store.delete(record.sandboxId);
  }

  /** Asks the plugins whether all is as they made it; rejects with what is not. Resolves where nobody may be asked. */
  async check(record: AttachmentRecord, signal: AbortSignal): Promise<void> {
    const { list, result } = record.cni ?? {};
    if (list === undefined || list.disableCheck === true || result === undefined) return;
    if (VERSIONS_WITHOUT_CHECK.includes(list.cniVersion)) return;
    for (const call of this.#callsOf(record, 'CHECK')) {
      await callCniPlugin(this.#options.tools, { ...call, previous: result }, signal);
    }
  }

  async #add(record: AttachmentRecord, signal: AbortSignal): Promise<CniResult> {
    let previous: CniResult | undefined;
    for (const call of this.#callsOf(record, 'ADD')) {
      previous = (await callCniPlugin(this.#options.tools, { ...call, previous }, signal)) ?? previous;
    }
    if (previous === undefined) throw refused(`CNI network ${record.cni?.list.name ?? ''} gave no result`);
    return previous;
  }

  #callsOf(record: AttachmentRecord, command: Call['command']): Call[] {
    const { sandboxId, holder, bootId, cni } = record;
    if (cni === undefined) return [];
    // A namespace can be named only while its holder lives; without one, plugins undo what is outside of it.
    const alive = bootId === this.#options.bootId && isAlive(holder);
    const netns = alive ? `/proc/${holder.pid}/ns/net` : '';
    const { list, binDirs, args, capabilities } = cni;
    return list.plugins.map((plugin) => {
      return { command, list, plugin, sandboxId, netns, args, binDirs, capabilities };
    });
  }
}

function toIps({ ips = [] }: CniResult): string[] {
  const addresses = ips.map(({ address }) => address.replace(/\/.*$/, ''));
  if (addresses.length === 0) throw refused('the CNI network gave the sandbox no address');
  // IPv4 first: agents take the first one for the pod's.
  return addresses.sort((a, b) => Number(a.includes(':')) - Number(b.includes(':')));
}
