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
import { NamespaceMode, type PodSandboxConfig } from '../../cri/generated/runtime/v1/cri.js';
import { type ClockTimer } from '../../util/clock.js';
import { messageOf } from '../../util/errors.js';
import { linkAbort, type LinkedAbort } from '../../util/linked-abort.js';
import { findProcess, isAlive } from '../process/process-identity.js';
import { refused } from '../rpc-error.js';
import { type AttachmentRecord } from './attachment-record.js';
import { type NewAttachment } from './bridge-attachments.js';
import { toHostPorts } from './host-port.js';
import { type NetworkStatus } from './network-choice.js';
import { openNetworkParts, type NetworkParts, type PodNetworkOptions } from './network-parts.js';
import { raiseLoopback } from './sandbox-link.js';
import { Turns } from './turns.js';

export { type PodNetworkOptions } from './network-parts.js';

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

/** How often proxies, and what is in the way, are looked after. */
const CHECK_MS = 2_000;

/** See the module's description. */
export class PodNetwork implements AsyncDisposable {
  readonly #options: PodNetworkOptions;
  readonly #parts: NetworkParts;
  readonly #turns = new Turns();
  readonly #attaching = new Map<string, LinkedAbort>();
  #timer: ClockTimer | undefined;
  #checking: Promise<void> = Promise.resolve();
  readonly #closing = new AbortController();

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
    return new PodNetwork(options, await openNetworkParts(options));
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
  async detach(sandboxId: string): Promise<void> {
    this.#attaching.get(sandboxId)?.abort(refused(`sandbox ${sandboxId} is being removed`));
    await this.#turns.run(sandboxId, () => this.#undo(sandboxId));
  }

  /**
   * Undoes what belongs to sandboxes that are not among these, alive or not, and makes sure of what belongs to those
   * that are. Never rejects: what fails is logged, and stays on record.
   */
  async restore(liveSandboxes: readonly LiveSandbox[]): Promise<void> {
    const { store, makers, bootId } = this.#parts;
    const live = new Set(liveSandboxes.map(({ id }) => id));
    const isLive = (record: AttachmentRecord): boolean =>
      live.has(record.sandboxId) && record.bootId === bootId;
    const [kept, gone] = [store.all.filter(isLive), store.all.filter((record) => !isLive(record))];
    const undone = gone.map((record) => ({ record, undone: this.#detachOrWarn(record.sandboxId) }));
    // A plugin may hang: nobody waits for it but the sandbox whose network it is.
    await Promise.all(undone.filter(({ record }) => record.cni === undefined).map((each) => each.undone));
    // What fails is told and does not keep the runtime from starting: its pods can still be stopped and removed.
    await this.#settle('Port proxies of removed sandboxes not ended', async () =>
      makers?.proxies.stopOthers((sandboxId) => store.find(sandboxId) !== undefined),
    );
    await this.#settle('Bridge of pods not restored', async () => makers?.own.restore());
    await this.#checkProxies();
    void this.#checkPlugins(kept);
  }

  /** Lets go of everything; sandboxes keep their networks. */
  async close(): Promise<void> {
    this.#closing.abort(refused('the runtime is ending'));
    this.#timer?.cancel();
    for (const abort of this.#attaching.values()) abort.abort(this.#closing.signal.reason);
    await this.#checking;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #attach(request: AttachRequest, signal: AbortSignal): Promise<readonly string[]> {
    const { makers, bootId, status, store } = this.#parts;
    const { sandboxId, holderPid, config } = request;
    const { mode, message } = status();
    // A range that was taken may be free by now: the attempt itself tells.
    if (makers === undefined) throw refused(`the network is not ready: ${message}`);
    signal.throwIfAborted();
    const holder = findProcess(holderPid);
    if (holder === undefined) throw refused(`the holder ${holderPid} of sandbox ${sandboxId} is gone`);
    const { pid, startTicks } = holder;
    const hostPorts = toHostPorts(config.portMappings);
    const wanted: NewAttachment = { sandboxId, bootId, holder: { pid, startTicks }, hostPorts };
    if (store.find(sandboxId) !== undefined) await this.#undo(sandboxId);
    if (mode === 'none') {
      await raiseLoopback(makers.tools, holderPid, signal);
      return [];
    }
    try {
      const { list } = await makers.choose();
      const ips =
        list === undefined
          ? await makers.own.attach(wanted, signal)
          : await makers.cni.attach(wanted, { list, config }, signal);
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
    const { store, makers, bootId } = this.#parts;
    const record = store.find(sandboxId);
    if (record === undefined) await makers?.own.removeIdleBridge();
    else if (record.cni === undefined && record.bootId !== bootId) await store.delete(sandboxId);
    else if (makers === undefined) throw refused(`the network of sandbox ${sandboxId} cannot be undone here`);
    else await (record.cni === undefined ? makers.own : makers.cni).detach(record);
  }

  #planCheck(): void {
    if (this.#closing.signal.aborted) return;
    this.#timer = this.#options.clock.setTimer(
      CHECK_MS,
      () => {
        this.#checking = this.#check();
        void this.#checking.then(() => this.#planCheck());
      },
      { unref: true },
    );
  }

  async #check(): Promise<void> {
    await this.#checkProxies();
    // Routes come and go; looking at them costs a process, so it is done only while they are in the way.
    const { makers, status } = this.#parts;
    if (status().ready || makers === undefined) return;
    await makers.checkRange().catch((error: unknown) => {
      this.#options.logger.warn('Routes not read', { err: messageOf(error) });
    });
  }

  /** Starts proxies again that have ended although their sandboxes live. */
  async #checkProxies(): Promise<void> {
    const { store } = this.#parts;
    for (const record of store.all) {
      if (record.portsBy !== 'proxy' || record.hostPorts.length === 0) continue;
      if (this.#closing.signal.aborted) return;
      await this.#turns
        .run(record.sandboxId, () => this.#reviveProxy(record))
        .catch((error: unknown) => this.#warn('Host ports not served', record.sandboxId, error));
    }
  }

  async #reviveProxy({ sandboxId }: AttachmentRecord): Promise<void> {
    const { store, makers } = this.#parts;
    const record = store.find(sandboxId);
    const [address] = record?.ips ?? [];
    if (record === undefined || address === undefined || makers === undefined) return;
    if (!isAlive(record.holder) || (await makers.proxies.isRunning(sandboxId))) return;
    await makers.proxies.start(record, address, this.#closing.signal);
    this.#options.logger.info('Port proxy started again', { sandboxId });
  }

  async #settle(failure: string, work: () => Promise<void> | undefined): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#options.logger.error(failure, error);
    }
  }

  async #detachOrWarn(sandboxId: string): Promise<void> {
    await this.detach(sandboxId).catch((error: unknown) =>
      this.#warn('Network of a removed sandbox not undone', sandboxId, error),
    );
  }

  /** Tells people when plugins no longer find what they have made; there is nothing that we could do about it. */
  async #checkPlugins(records: readonly AttachmentRecord[]): Promise<void> {
    for (const record of records) {
      if (this.#closing.signal.aborted) return;
      await this.#parts.makers?.cni
        .check(record, this.#closing.signal)
        .catch((error: unknown) =>
          this.#warn('CNI plugins find the network damaged', record.sandboxId, error),
        );
    }
  }

  #warn(message: string, sandboxId: string, error: unknown): void {
    this.#options.logger.warn(message, { sandboxId, err: messageOf(error) });
  }
}

function usesHostNetwork({ linux }: PodSandboxConfig): boolean {
  return linux?.securityContext?.namespaceOptions?.network === NamespaceMode.NODE;
}
