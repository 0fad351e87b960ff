import { join } from 'node:path';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { TOOL_PATH } from '../process/find-tools.js';
import { readBootId } from '../process/child-identity.js';
import { repairAttachments, type LiveSandbox } from './links/attachment-repair.js';
import { AttachmentStore } from './links/attachment-store.js';
import { BridgeAttachments } from './links/bridge-attachments.js';
import { CniAttachments } from './cni/cni-attachments.js';
import {
  chooseCniList,
  DEFAULT_CNI_BIN_DIRS,
  DEFAULT_CNI_CONF_DIR,
  type CniChoice,
} from './cni/cni-config.js';
import { findPacketRules } from './rules/find-packet-rules.js';
import {
  describeBridge,
  describeCni,
  describeHostNetwork,
  describeRangeFault,
  ONLY_LOOPBACK,
  parsePodCidr,
  type NetworkMode,
  type NetworkStatus,
} from './network-choice.js';
import { NetworkTools } from './network-tools.js';
import { PodBridge } from './links/pod-bridge.js';
import { PortProxies } from './rules/port-proxies.js';
import { makeFolder } from '#base/fs/make-folder.js';

/** What opening the network of pods takes. */
export interface PodNetworkOptions {
  readonly mode: NetworkMode;
  /** The runtime's root; the network's records are in a folder of it. */
  readonly rootDir: string;
  /** The range of our own bridge, as `10.88.0.0/16` (default: one that no route overlaps is chosen). */
  readonly podCidr?: string | undefined;
  /** Folders with CNI plugins, with colons between them. */
  readonly cniBinDir?: string | undefined;
  /** Folder with CNI network configuration lists. */
  readonly cniConfDir?: string | undefined;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Folders with `ip`, `nsenter` and the like, with colons between them. */
  readonly toolPath?: string | undefined;
  /** The file of the network namespace that plays the host (default: the runtime's own). For tests. */
  readonly hostNetns?: string | undefined;
}

/** What the network of pods is made of. */
export interface NetworkParts {
  readonly bootId: string;
  readonly store: AttachmentStore;
  /** Undefined where pods have the host's network. */
  readonly makers: NetworkMakers | undefined;
  readonly status: () => NetworkStatus;
}

/** What makes networks where that is possible. */
export interface NetworkMakers {
  readonly tools: NetworkTools;
  readonly proxies: PortProxies;
  readonly own: BridgeAttachments;
  readonly cni: CniAttachments;
  /** See {@link repairAttachments}. */
  readonly repair: (live: readonly LiveSandbox[]) => Promise<void>;
  /** Chooses the network of new sandboxes: CNI's, if there is a list, or podloop's bridge. */
  readonly choose: () => Promise<CniChoice>;
  /** Checks whether the configured range is free; {@link NetworkParts.status} has the result. */
  readonly checkRange: () => Promise<void>;
}

/** Finds out what can be done here, and reads what is on record. Changes nothing but the network's folder. */
export async function openNetworkParts(options: PodNetworkOptions): Promise<NetworkParts> {
  const { mode, rootDir, logger, clock, hostNetns, toolPath = TOOL_PATH } = options;
  const range = parsePodCidr(options.podCidr);
  const dir = join(rootDir, 'network');
  await makeFolder(join(dir, 'ports'), 0o700);
  const store = await AttachmentStore.open({ dir: join(dir, 'pods'), logger });
  const bootId = await readBootId();
  // What another mode has left must be undone, too.
  const tools =
    mode === 'host' && store.all.length + store.unreadable.size === 0
      ? 'it is not wanted'
      : await NetworkTools.find({ clock, path: toolPath, hostNetns });
  if (typeof tools === 'string') {
    const status = describeHostNetwork(mode, tools);
    return { bootId, store, makers: undefined, status: () => status };
  }
  const bridge = await PodBridge.open({ dir, range, tools, logger });
  const proxies = await PortProxies.open({
    dir: join(dir, 'ports'),
    clock,
    wrap: (argv) => tools.wrap(argv),
    recordPathOf: (sandboxId) => store.pathOf(sandboxId),
  });
  const rules = await findPacketRules(tools);
  const usableRules = typeof rules === 'string' ? undefined : rules;
  const attachments = { store, bridge, tools, proxies, rules: usableRules, logger };
  const own = new BridgeAttachments(attachments);
  const repair = (live: readonly LiveSandbox[]): Promise<void> =>
    repairAttachments({ ...attachments, bootId }, live);
  const { cniBinDir = DEFAULT_CNI_BIN_DIRS, cniConfDir = DEFAULT_CNI_CONF_DIR } = options;
  const cni = new CniAttachments({ store, tools, proxies, binDirs: cniBinDir, bootId });
  const none: CniChoice = { list: undefined, path: undefined, fault: undefined };
  let choice = none;
  const choose = async (): Promise<CniChoice> => {
    choice = mode === 'auto' ? await chooseCniList(cniConfDir, cniBinDir) : none;
    return choice;
  };
  await choose();
  let rangeFault: string | undefined;
  const checkRange = async (): Promise<void> => {
    rangeFault = choice.list === undefined ? await bridge.findFault() : undefined;
  };
  if (mode === 'auto' || mode === 'bridge') await checkRange();
  const status = (): NetworkStatus => {
    if (mode === 'host') return describeHostNetwork(mode, '');
    if (mode === 'none') return ONLY_LOOPBACK;
    if (choice.list !== undefined) return describeCni(choice.list, choice.path ?? '');
    if (rangeFault !== undefined) return describeRangeFault(rangeFault);
    return describeBridge({ range: bridge.range, rules, cni: choice });
  };
  return { bootId, store, makers: { tools, proxies, own, cni, repair, choose, checkRange }, status };
}
