/**
 * The network of pods: gives each sandbox an address that the host and the other pods reach, serves its host
 * ports, and undoes all of it.
 *
 * In: a sandbox's holder, a process in a network namespace of its own. Out: addresses. On the disk, below the
 * runtime's root in `network/`: a record for each attached sandbox, written before anything is made for it.
 *
 * ```
 * attach ─► record ─► bridge-attachments ─► bridge, veth pair, address, routes      (ip, nsenter)
 *                 │                     └─► host ports: packet rules, or a proxy process
 *                 └─► cni-attachments ────► the plugins of a conflist, one after another
 * detach, restore ◄─ record: undoes whatever may be there, in any state, and then forgets it
 * ```
 *
 * It assumes that a sandbox's processes are dead, or about to be, when it is detached. A runtime that is killed at
 * any moment leaves a record; {@link PodNetwork.restore} undoes those of sandboxes that are gone.
 *
 * @module
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { NamespaceMode, type PodSandboxConfig } from '../../cri/generated/runtime/v1/cri.js';
import { type Clock, type ClockTimer } from '../../util/clock.js';
import { messageOf } from '../../util/errors.js';
import { linkAbort, type LinkedAbort } from '../../util/linked-abort.js';
import { type Logger } from '../../util/logger.js';
import { TOOL_PATH } from '../find-tools.js';
import { findProcess, isAlive, readBootId } from '../process-identity.js';
import { refused } from '../rpc-error.js';
import { type AttachmentRecord } from './attachment-record.js';
import { AttachmentStore } from './attachment-store.js';
import { BridgeAttachments, type NewAttachment } from './bridge-attachments.js';
import { findPacketRules } from './find-packet-rules.js';
import { toHostPorts } from './host-port.js';
import { parsePodCidr, type NetworkMode, type NetworkStatus } from './network-choice.js';
import { NetworkTools } from './network-tools.js';
import { PodBridge } from './pod-bridge.js';
import { PortProxies } from './port-proxies.js';
import { raiseLoopback } from './sandbox-link.js';
import { Turns } from './turns.js';

/** What {@link PodNetwork.open} takes. */
export interface PodNetworkOptions {
  readonly mode: NetworkMode;
  /** The runtime's root; the network's records are in a folder of it. */
  readonly rootDir: string;
  /** The range of our own bridge, as `10.88.0.0/16`; one that no route overlaps is chosen unless told. */
  readonly podCidr?: string | undefined;
  /** Folders with CNI plugins, with colons between them. */
  readonly cniBinDir?: string | undefined;
  /** Folder with CNI network configuration lists. */
  readonly cniConfDir?: string | undefined;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Folders with `ip`, `nsenter` and the like, with colons between them. */
  readonly toolPath?: string | undefined;
  /** The file of the network namespace that plays the host; the runtime's own unless told. For tests. */
  readonly hostNetns?: string | undefined;
}

/** A sandbox that is to be attached. */
export interface AttachRequest {
  /** At least twelve hexadecimal digits. */
  readonly sandboxId: string;
  /** A process in the sandbox's network namespace, which lives as long as the sandbox. */
  readonly holderPid: number;
  readonly config: PodSandboxConfig;
}

/** A sandbox that is there, with its holder. */
export interface LiveSandbox {
  readonly id: string;
  readonly holderPid: number;
}

/** How often proxies are looked after. */
const CHECK_MS = 2_000;

/** See the module's description. */
export class PodNetwork implements AsyncDisposable {
  readonly #options: PodNetworkOptions;
  readonly #parts: NetworkParts;
  readonly #turns = new Turns();
  readonly #attaching = new Map<string, LinkedAbort>();
  #timer: ClockTimer | undefined;
  #checking: Promise<void> = Promise.resolve();
  #closed = false;

  private constructor(options: PodNetworkOptions, parts: NetworkParts) {
    this.#options = options;
    this.#parts = parts;
    this.#planCheck();
  }

  /**
   * Finds out what can be done here, and reads what an earlier runtime has left; changes nothing. Throws
   * OPTION_INVALID for a range that is none. What cannot be done is told by {@link status}.
   */
  static async open(options: PodNetworkOptions): Promise<PodNetwork> {
    return new PodNetwork(options, await openParts(options));
  }

  /** What pods get, and what they lack. */
  status(): NetworkStatus {
    return this.#parts.status();
  }

  /** Whether sandboxes get a network namespace of their own, unless they ask for the host's. */
  get isolates(): boolean {
    return this.#parts.status().mode !== 'host';
  }

  /** The addresses of an attached sandbox; none when it is not attached. */
  ipsOf(sandboxId: string): readonly string[] {
    return this.#parts.store.find(sandboxId)?.ips ?? [];
  }

  /**
   * Gives a sandbox its network: loopback, address, routes, host ports. No addresses come back for one that has the
   * host's network, or none.
   *
   * Rejects with nothing left: when a host port is taken, no address is free, a helper fails or takes too long, the
   * signal aborts (with its reason), or the sandbox is detached meanwhile.
   */
  async attach(request: AttachRequest, signal: AbortSignal): Promise<{ ips: readonly string[] }> {
    const { sandboxId, config } = request;
    if (!this.isolates || usesHostNetwork(config)) return { ips: [] };
    const abort = linkAbort(signal);
    this.#attaching.get(sandboxId)?.abort(refused(`sandbox ${sandboxId} is being attached anew`));
    this.#attaching.set(sandboxId, abort);
    try {
      return { ips: await this.#turns.run(sandboxId, () => this.#attach(request, abort.signal)) };
    } finally {
      abort.unlink();
      if (this.#attaching.get(sandboxId) === abort) this.#attaching.delete(sandboxId);
    }
  }

  /**
   * Undoes everything that was made for a sandbox. Idempotent, and works by the record alone: the holder may be dead.
   * Rejects when something could not be undone; what is left is still on record then.
   */
  async detach(sandboxId: string, _holderPid?: number): Promise<void> {
    this.#attaching.get(sandboxId)?.abort(refused(`sandbox ${sandboxId} is being removed`));
    await this.#turns.run(sandboxId, () => this.#undo(sandboxId));
  }

  /** Undoes what belongs to sandboxes that are not among these, and makes sure of what belongs to those that are. */
  async restore(liveSandboxes: readonly LiveSandbox[]): Promise<void> {
    const { store, proxies, own, bootId } = this.#parts;
    const live = new Set(liveSandboxes.map(({ id }) => id));
    for (const { sandboxId, bootId: recordBoot } of store.all) {
      if (live.has(sandboxId) && recordBoot === bootId) continue;
      await this.detach(sandboxId).catch((error: unknown) =>
        this.#warn('Network of a removed sandbox not undone', sandboxId, error),
      );
    }
    await proxies?.stopOthers((sandboxId) => store.find(sandboxId) !== undefined);
    await own?.restore();
    await this.#checkProxies();
  }

  /** Lets go of everything; sandboxes keep their networks. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#timer?.cancel();
    for (const abort of this.#attaching.values()) abort.abort(refused('the runtime is ending'));
    await this.#checking;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #attach(request: AttachRequest, signal: AbortSignal): Promise<readonly string[]> {
    const { tools, own, bootId, status, store } = this.#parts;
    const { sandboxId, holderPid, config } = request;
    const { ready, mode, message } = status();
    if (!ready || tools === undefined || own === undefined)
      throw refused(`the network is not ready: ${message}`);
    signal.throwIfAborted();
    const holder = findProcess(holderPid);
    if (holder === undefined) throw refused(`the holder ${holderPid} of sandbox ${sandboxId} is gone`);
    const { pid, startTicks } = holder;
    const wanted: NewAttachment = {
      sandboxId,
      bootId,
      holder: { pid, startTicks },
      hostPorts: toHostPorts(config.portMappings),
    };
    if (store.find(sandboxId) !== undefined) await this.#undo(sandboxId);
    if (mode === 'none') {
      await raiseLoopback(tools, holderPid, signal);
      return [];
    }
    try {
      const ips = await own.attach(wanted, signal);
      // Its pid may have gone to somebody else in between.
      if (!isAlive(holder)) throw refused(`the holder ${holderPid} of sandbox ${sandboxId} ended`);
      return ips;
    } catch (error) {
      await this.#undo(sandboxId).catch((fault: unknown) =>
        this.#warn('Half a network not undone yet', sandboxId, fault),
      );
      throw error;
    }
  }

  async #undo(sandboxId: string): Promise<void> {
    const { store, own, bootId } = this.#parts;
    const record = store.find(sandboxId);
    if (record === undefined) {
      await own?.removeIdleBridge();
      return;
    }
    if (record.bootId !== bootId) await store.delete(sandboxId);
    else await own?.detach(record);
  }

  #planCheck(): void {
    if (this.#closed) return;
    this.#timer = this.#options.clock.setTimer(
      CHECK_MS,
      () => {
        this.#checking = this.#checkProxies();
        void this.#checking.then(() => this.#planCheck());
      },
      { unref: true },
    );
  }

  /** Starts proxies again that have ended although their sandboxes live. */
  async #checkProxies(): Promise<void> {
    const { store } = this.#parts;
    for (const record of store.all) {
      if (record.portsBy !== 'proxy' || record.hostPorts.length === 0 || this.#closed) continue;
      await this.#turns
        .run(record.sandboxId, () => this.#reviveProxy(record))
        .catch((error: unknown) => this.#warn('Host ports not served', record.sandboxId, error));
    }
  }

  async #reviveProxy({ sandboxId }: AttachmentRecord): Promise<void> {
    const { store, proxies } = this.#parts;
    const record = store.find(sandboxId);
    const [address] = record?.ips ?? [];
    if (record === undefined || address === undefined || proxies === undefined) return;
    if (!isAlive(record.holder) || (await proxies.isRunning(sandboxId))) return;
    await proxies.start(record, address, undefined);
    this.#options.logger.info('Port proxy started again', { sandboxId });
  }

  #warn(message: string, sandboxId: string, error: unknown): void {
    this.#options.logger.warn(message, { sandboxId, err: messageOf(error) });
  }
}

/** What a network is made of here; parts are missing where they cannot be had. */
interface NetworkParts {
  readonly bootId: string;
  readonly store: AttachmentStore;
  readonly tools: NetworkTools | undefined;
  readonly proxies: PortProxies | undefined;
  readonly own: BridgeAttachments | undefined;
  readonly status: () => NetworkStatus;
}

async function openParts(options: PodNetworkOptions): Promise<NetworkParts> {
  const { mode, rootDir, logger, clock, hostNetns, toolPath = TOOL_PATH } = options;
  const range = parsePodCidr(options.podCidr);
  const dir = join(rootDir, 'network');
  await mkdir(join(dir, 'ports'), { recursive: true, mode: 0o700 });
  const store = await AttachmentStore.open({ dir: join(dir, 'pods'), logger });
  const base = { bootId: await readBootId(), store };
  const found = mode === 'host' ? 'host' : await NetworkTools.find({ clock, path: toolPath, hostNetns });
  if (typeof found === 'string') {
    const status = describeWithout(mode, found);
    return { ...base, tools: undefined, proxies: undefined, own: undefined, status: () => status };
  }
  const tools = found;
  const bridge = await PodBridge.open({ dir, range, tools, logger });
  const proxies = await PortProxies.open({
    dir: join(dir, 'ports'),
    clock,
    wrap: (argv) => tools.wrap(argv),
    recordPathOf: (sandboxId) => store.pathOf(sandboxId),
  });
  const rules = await findPacketRules(tools);
  const own = new BridgeAttachments({
    store,
    bridge,
    tools,
    proxies,
    rules: typeof rules === 'string' ? undefined : rules,
    logger,
  });
  const status = (): NetworkStatus =>
    mode === 'none'
      ? ONLY_LOOPBACK
      : describeBridge(bridge.range === undefined ? 'chosen with the first pod' : '');
  return { ...base, tools, proxies, own, status };
}

const ONLY_LOOPBACK: NetworkStatus = {
  ready: true,
  mode: 'none',
  reason: 'OnlyLoopback',
  message: 'each pod has a loopback interface of its own and nothing else, as asked',
};

function describeBridge(range: string): NetworkStatus {
  return { ready: true, mode: 'bridge', reason: 'OwnBridge', message: range };
}

function describeWithout(mode: NetworkMode, why: string): NetworkStatus {
  if (mode === 'host')
    return {
      ready: true,
      mode: 'host',
      reason: 'HostNetwork',
      message: 'pods use the host’s network, as asked',
    };
  if (mode === 'auto') {
    const message = `pods use the host’s network, and their ports are the host’s: ${why}`;
    return { ready: true, mode: 'host', reason: 'NoPodNetwork', message };
  }
  return {
    ready: false,
    mode,
    reason: 'NetworkUnavailable',
    message: `${mode} is not possible here: ${why}`,
  };
}

function usesHostNetwork({ linux }: PodSandboxConfig): boolean {
  return linux?.securityContext?.namespaceOptions?.network === NamespaceMode.NODE;
}
