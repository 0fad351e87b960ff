import { type CriClient } from '#watch';
import { Backoff } from '#base/async/backoff.js';
import { type Clock } from '#base/time/clock.js';
import { isUnimplemented, messageOf } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { Wakeup } from '#base/async/wakeup.js';

/** What {@link PodRangeTeller} needs. */
export interface PodRangeTellerOptions {
  /** Of the runtime. */
  readonly client: Pick<CriClient, 'updateRuntimeConfig'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A kubelet tries again with its next look at the Node. */
const FIRST_RETRY_MS = 10_000;
const LONGEST_RETRY_MS = 60_000;

/**
 * Tells the runtime which addresses the cluster has given to the pods of this node: once, and again when they change.
 *
 * containerd fills in the template of its CNI configuration with them (`conf_template`), where it has one, and has no
 * network before. Others make nothing of it. What the Node no longer says holds, as with a kubelet.
 *
 * Source: CRI RuntimeService.UpdateRuntimeConfig
 */
export class PodRangeTeller {
  readonly #options: PodRangeTellerOptions;
  readonly #wakeup = new Wakeup();
  readonly #retries = new Backoff({ initialMs: FIRST_RETRY_MS, maxMs: LONGEST_RETRY_MS });
  #wanted = '';
  #told = '';
  #complaint = '';

  constructor(options: PodRangeTellerOptions) {
    this.#options = options;
  }

  /** `spec.podCIDRs` of the Node as it is now; empty while the cluster gives it none. */
  note(ranges: readonly string[]): void {
    const wanted = ranges.join(',');
    if (wanted === '' || wanted === this.#wanted) return;
    this.#wanted = wanted;
    this.#wakeup.wake();
  }

  /** Tells until the signal aborts; resolves then. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const isTold = this.#wanted === this.#told || (await this.#tell(this.#wanted, signal));
      const delayMs = isTold ? undefined : this.#retries.nextMs();
      await this.#wakeup.wait(this.#options.clock, delayMs, signal).catch(() => undefined);
    }
  }

  /** Whether there is nothing to be tried again. */
  async #tell(range: string, signal: AbortSignal): Promise<boolean> {
    const { client, logger } = this.#options;
    try {
      await client.updateRuntimeConfig({ runtimeConfig: { networkConfig: { podCidr: range } } }, { signal });
      logger.info('Updating Pod CIDR', { originalPodCIDR: this.#told, newPodCIDR: range });
    } catch (error) {
      if (signal.aborted) return true;
      // One that has no such call wants no ranges.
      if (!isUnimplemented(error)) {
        this.#complain(range, error);
        return false;
      }
    }
    this.#told = range;
    this.#complaint = '';
    this.#retries.reset();
    return true;
  }

  /** Each reason once. */
  #complain(range: string, error: unknown): void {
    const complaint = messageOf(error);
    if (complaint === this.#complaint) return;
    this.#complaint = complaint;
    this.#options.logger.error('The runtime was not told the addresses of its pods', error, {
      podCIDR: range,
    });
  }
}
