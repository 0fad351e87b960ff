import { type CriClient } from '#watch';
import { Backoff } from '#base/async/backoff.js';
import { type Clock } from '#base/time/clock.js';
import { isUnimplemented, messageOf } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { Wakeup } from '#base/async/wakeup.js';

/** What {@link PodRangeReporter} needs. */
export interface PodRangeReporterOptions {
  /** The runtime's client. */
  readonly client: Pick<CriClient, 'updateRuntimeConfig'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A kubelet tries again when it next reads the Node. */
const FIRST_RETRY_MS = 10_000;
const MAX_RETRY_MS = 60_000;

/**
 * Passes the addresses for pods of this node, from its cluster or from its options, to the runtime: once, and again when they change.
 *
 * containerd uses them in the template of its CNI configuration (`conf_template`), if it has one, and has no
 * network before that. Other runtimes ignore them. A range that the Node no longer has stays in use, as with
 * a kubelet.
 *
 * Source: CRI RuntimeService.UpdateRuntimeConfig
 */
export class PodRangeReporter {
  readonly #options: PodRangeReporterOptions;
  readonly #wakeup = new Wakeup();
  readonly #retries = new Backoff({ initialMs: FIRST_RETRY_MS, maxMs: MAX_RETRY_MS });
  #wanted = '';
  #reported = '';
  #complaint = '';

  constructor(options: PodRangeReporterOptions) {
    this.#options = options;
  }

  /** The present `spec.podCIDRs` of the Node, or the option's; empty while there are none. */
  note(ranges: readonly string[]): void {
    const wanted = ranges.join(',');
    if (wanted === '' || wanted === this.#wanted) return;
    this.#wanted = wanted;
    this.#wakeup.wake();
  }

  /** Passes changes on until the signal aborts; then resolves. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const isTold = this.#wanted === this.#reported || (await this.#report(this.#wanted, signal));
      const delayMs = isTold ? undefined : this.#retries.nextMs();
      await this.#wakeup.wait(this.#options.clock, delayMs, signal).catch(() => undefined);
    }
  }

  /** Whether no retry is needed. */
  async #report(range: string, signal: AbortSignal): Promise<boolean> {
    const { client, logger } = this.#options;
    try {
      await client.updateRuntimeConfig({ runtimeConfig: { networkConfig: { podCidr: range } } }, { signal });
      logger.info('Updating Pod CIDR', { originalPodCIDR: this.#reported, newPodCIDR: range });
    } catch (error) {
      if (signal.aborted) return true;
      // A runtime without this call needs no ranges.
      if (!isUnimplemented(error)) {
        this.#complain(range, error);
        return false;
      }
    }
    this.#reported = range;
    this.#complaint = '';
    this.#retries.reset();
    return true;
  }

  /** Logs each reason once. */
  #complain(range: string, error: unknown): void {
    const complaint = messageOf(error);
    if (complaint === this.#complaint) return;
    this.#complaint = complaint;
    this.#options.logger.error('The addresses of pods could not be sent to the runtime', error, {
      podCIDR: range,
    });
  }
}
