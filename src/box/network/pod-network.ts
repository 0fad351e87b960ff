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
import { NamespaceMode, type PodSandboxConfig } from '#watch/messages';
import { messageOf } from '#base/errors/errors.js';
import { linkAbort, type LinkedAbort } from '#base/async/linked-abort.js';
import { findProcess, isAlive } from '../process/child-identity.js';
import { refused } from '../rpc-error.js';
import { type AttachmentRecord } from './links/attachment-record.js';
import { type LiveSandbox } from './links/attachment-repair.js';
import { type NewAttachment } from './links/bridge-attachments.js';
import { toHostPorts } from './rules/host-port.js';
import { type NetworkStatus } from './network-choice.js';
import { NetworkCare } from './network-care.js';
import { openNetworkParts, type NetworkParts, type PodNetworkOptions } from './network-parts.js';
import { raiseLoopback } from './links/sandbox-link.js';
import { KeyedMutex } from '#base/async/keyed-mutex.js';

export { type LiveSandbox } from './links/attachment-repair.js';
export { type PodNetworkOptions } from './network-parts.js';

/** A sandbox that is to be attached. */
export interface AttachRequest {
  /** At least twelve hexadecimal digits. */
  readonly sandboxId: string;
  /** A process in the sandbox's network namespace, which lives as long as the sandbox. */
  readonly holderPid: number;
  readonly config: PodSandboxConfig;
}

/**
 * How long the end of what is being made or undone is waited for: helpers are killed by then, and what a plugin has not
 * undone stays on record.
 */
const LAST_TURNS_MS = 10_000;

/** See the module's description. */
export class PodNetwork implements AsyncDisposable {
  readonly #options: PodNetworkOptions;
  readonly #parts: NetworkParts;
  readonly #turns = new KeyedMutex();
  readonly #attaching = new Map<string, LinkedAbort>();
  readonly #closing = new AbortController();
  readonly #care: NetworkCare;

  private constructor(options: PodNetworkOptions, parts: NetworkParts) {
    this.#options = options;
    this.#parts = parts;
    const { clock, logger } = options;
    this.#care = new NetworkCare({ parts, turns: this.#turns, clock, logger, closing: this.#closing.signal });
  }

  /**
   * Finds out what can be done here, and reads what an earlier runtime has left; changes nothing. Throws
   * OPTION_INVALID for a range that is none. {@link status} reports what cannot be done.
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
    this.#closing.signal.throwIfAborted();
    const abort = linkAbort(signal);
    this.#attaching.get(sandboxId)?.abort(refused(`sandbox ${sandboxId} is being attached again`));
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
   * that are, whether their records can be read or not. Never rejects: what fails is logged, and stays on record.
   */
  async restore(liveSandboxes: readonly LiveSandbox[]): Promise<void> {
    const { store, makers, bootId } = this.#parts;
    const live = new Set(liveSandboxes.map(({ id }) => id));
    const isLive = (record: AttachmentRecord): boolean =>
      live.has(record.sandboxId) && record.bootId === bootId;
    await makers?.repair(liveSandboxes);
    const [kept, gone] = [store.all.filter(isLive), store.all.filter((record) => !isLive(record))];
    const undone = gone.map((record) => ({ record, undone: this.#detachOrWarn(record.sandboxId) }));
    // A plugin may hang: nobody waits for it but the sandbox whose network it is.
    await Promise.all(undone.filter(({ record }) => record.cni === undefined).map((each) => each.undone));
    for (const id of store.unreadable) if (!live.has(id)) await this.#detachOrWarn(id);
    // What fails is told and does not keep the runtime from starting: its pods can still be stopped and removed.
    await this.#settle('Port proxies of removed sandboxes not ended', async () =>
      makers?.proxies.stopOthers((id) => store.find(id) !== undefined || store.unreadable.has(id)),
    );
    await this.#settle('Bridge of pods not restored', async () => makers?.own.restore());
    await this.#care.checkProxies();
    this.#care.checkPlugins(kept);
  }

  /**
   * Lets go of everything; sandboxes keep their networks. What was being made is broken off and undone before it
   * resolves, unless that takes longer than some seconds: then the next start undoes it.
   */
  async close(): Promise<void> {
    this.#closing.abort(refused('the runtime is ending'));
    for (const abort of this.#attaching.values()) abort.abort(this.#closing.signal.reason);
    const { clock, logger } = this.#options;
    const over = new AbortController();
    const settled = Promise.all([this.#care.close(), this.#turns.allSettled()]).then(() => over.abort());
    await Promise.race([settled, clock.sleep(LAST_TURNS_MS, over.signal).catch(() => undefined)]);
    if (!over.signal.aborted)
      logger.warn('Networks are still being made or undone at the end', { sandboxIds: this.#turns.keys });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #attach(request: AttachRequest, signal: AbortSignal): Promise<readonly string[]> {
    const { makers, bootId, status, store } = this.#parts;
    const { sandboxId, holderPid, config } = request;
    const { mode, message } = status();
    // A range that was taken may be free by now, so try it.
    if (makers === undefined) throw refused(`the network is not ready: ${message}`);
    signal.throwIfAborted();
    const holder = findProcess(holderPid);
    if (holder === undefined) throw refused(`the holder ${holderPid} of sandbox ${sandboxId} is gone`);
    const { pid, startTicks } = holder;
    const hostPorts = toHostPorts(config.portMappings);
    const wanted: NewAttachment = { sandboxId, bootId, holder: { pid, startTicks }, hostPorts };
    if (store.find(sandboxId) !== undefined || store.unreadable.has(sandboxId)) await this.#undo(sandboxId);
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
    if (store.unreadable.has(sandboxId)) {
      if (makers === undefined) throw cannotUndo(sandboxId);
      await makers.own.detachUnknown(sandboxId);
      return;
    }
    const record = store.find(sandboxId);
    if (record === undefined) await makers?.own.removeIdleBridge();
    else if (record.cni === undefined && record.bootId !== bootId) await store.delete(sandboxId);
    else if (makers === undefined) throw cannotUndo(sandboxId);
    else await (record.cni === undefined ? makers.own : makers.cni).detach(record);
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

  #warn(message: string, sandboxId: string, error: unknown): void {
    this.#options.logger.warn(message, { sandboxId, err: messageOf(error) });
  }
}

function cannotUndo(sandboxId: string): Error {
  return refused(`the network of sandbox ${sandboxId} cannot be undone here`);
}

function usesHostNetwork({ linux }: PodSandboxConfig): boolean {
  return linux?.securityContext?.namespaceOptions?.network === NamespaceMode.NODE;
}
