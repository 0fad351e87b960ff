import { type Clock, type ClockTimer } from '#base/time/clock.js';
import { messageOf } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { isAlive } from '../process/child-identity.js';
import { type AttachmentRecord } from './links/attachment-record.js';
import { type NetworkParts } from './network-parts.js';
import { type KeyedMutex } from '#base/async/keyed-mutex.js';

/** What {@link NetworkCare} needs. */
export interface NetworkCareOptions {
  readonly parts: NetworkParts;
  /** Of the sandboxes: nothing is looked after while its sandbox comes or goes. */
  readonly turns: KeyedMutex;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Ends it. */
  readonly closing: AbortSignal;
}

/** How often proxies, and what is in the way, are looked after. */
const CHECK_MS = 2_000;

/** Looks after networks that are made: proxies that have died, routes that are in the way, what plugins find. */
export class NetworkCare {
  readonly #options: NetworkCareOptions;
  #timer: ClockTimer | undefined;
  #checking: Promise<void> = Promise.resolve();
  #checkingPlugins: Promise<void> = Promise.resolve();

  /** Begins to look at once. */
  constructor(options: NetworkCareOptions) {
    this.#options = options;
    this.#plan();
  }

  /** Starts proxies again that have ended although their sandboxes live. Never rejects. */
  async checkProxies(): Promise<void> {
    const { parts, turns, closing } = this.#options;
    for (const record of parts.store.all) {
      if (record.portsBy !== 'proxy' || record.hostPorts.length === 0) continue;
      if (closing.aborted) return;
      await turns
        .run(record.sandboxId, () => this.#reviveProxy(record))
        .catch((error: unknown) => this.#warn('Host ports not served', record.sandboxId, error));
    }
  }

  /**
   * Tells people, some time later, when plugins no longer find what they have made; there is nothing that we could do
   * about it.
   */
  checkPlugins(records: readonly AttachmentRecord[]): void {
    this.#checkingPlugins = this.#checkPlugins(records);
  }

  /** Resolves once nothing is looked at any more. To be called after `closing` has aborted. */
  async close(): Promise<void> {
    this.#timer?.cancel();
    await this.#checking;
    await this.#checkingPlugins;
  }

  #plan(): void {
    const { clock, closing } = this.#options;
    if (closing.aborted) return;
    this.#timer = clock.setTimer(
      CHECK_MS,
      () => {
        this.#checking = this.#check();
        void this.#checking.then(() => this.#plan());
      },
      { unref: true },
    );
  }

  async #check(): Promise<void> {
    await this.checkProxies();
    // Routes come and go; looking at them costs a process, so it is done only while they are in the way.
    const { parts, logger } = this.#options;
    const { makers, status } = parts;
    if (status().ready || makers === undefined) return;
    await makers.checkRange().catch((error: unknown) => {
      logger.warn('Routes not read', { err: messageOf(error) });
    });
  }

  async #reviveProxy({ sandboxId }: AttachmentRecord): Promise<void> {
    const { parts, closing, logger } = this.#options;
    const { store, makers } = parts;
    const record = store.find(sandboxId);
    const [address] = record?.ips ?? [];
    if (record === undefined || address === undefined || makers === undefined) return;
    if (!isAlive(record.holder) || (await makers.proxies.isRunning(sandboxId))) return;
    await makers.proxies.start(record, address, closing);
    logger.info('Port proxy started again', { sandboxId });
  }

  async #checkPlugins(records: readonly AttachmentRecord[]): Promise<void> {
    const { parts, closing } = this.#options;
    for (const record of records) {
      if (closing.aborted) return;
      await parts.makers?.cni
        .check(record, closing)
        .catch((error: unknown) =>
          this.#warn('CNI plugins find the network damaged', record.sandboxId, error),
        );
    }
  }

  #warn(message: string, sandboxId: string, error: unknown): void {
    this.#options.logger.warn(message, { sandboxId, err: messageOf(error) });
  }
}
