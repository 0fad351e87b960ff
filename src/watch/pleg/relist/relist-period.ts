import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { Wakeup } from '#base/async/wakeup.js';
import { type EventStream } from '../event-stream.js';
import { type Looks } from './looks.js';
import { type Cadence, type CadenceOptions, computeCadence, provesComplete } from './relist-cadence.js';

/** What a {@link RelistPeriod} follows from; the stream and the looks are read each time. */
export interface RelistPeriodOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly cadence: CadenceOptions;
  readonly stream: Pick<EventStream, 'announcedInARow'> & {
    readonly info: Pick<EventStream['info'], 'state'>;
  };
  readonly looks: Pick<Looks, 'lastListError'>;
}

/**
 * The gap between two relists by the period: how long it is to be now, and the wait for its end.
 *
 * The rules are {@link computeCadence}'s; here is what they need to know of the past. One loop waits; anybody may call
 * the rest meanwhile.
 */
export class RelistPeriod {
  readonly #options: RelistPeriodOptions;
  readonly #wakeup = new Wakeup();
  #cadence: Cadence;
  /** See {@link CadenceInput}. */
  #quietRelists = 0;
  /** Monotonic milliseconds. */
  #thresholdSinceMs: number;

  constructor(options: RelistPeriodOptions) {
    this.#options = options;
    this.#cadence = this.#computeCadence();
    this.#thresholdSinceMs = options.clock.monotonicMs();
  }

  /** Milliseconds from the end of one relist to the begin of the next, unless the last list failed. */
  get periodMs(): number {
    return this.#cadence.periodMs;
  }

  /** How old the last success may get before the node is unhealthy, in milliseconds. */
  get thresholdMs(): number {
    return this.#cadence.thresholdMs;
  }

  /** For how many milliseconds the threshold has been no longer than it is. */
  get thresholdAgeMs(): number {
    return this.#options.clock.monotonicMs() - this.#thresholdSinceMs;
  }

  /** The stream, or what is known of its completeness, has changed: a wait under way gets longer or shorter at once. */
  reconsider(): void {
    if (!this.#eventsProveComplete) this.#quietRelists = 0;
    const { periodMs, thresholdMs } = this.#computeCadence();
    if (periodMs === this.#cadence.periodMs && thresholdMs === this.#cadence.thresholdMs) return;
    const { clock, logger } = this.#options;
    if (thresholdMs < this.#cadence.thresholdMs) this.#thresholdSinceMs = clock.monotonicMs();
    this.#cadence = { periodMs, thresholdMs };
    logger.info('GenericPLEG: Relist period changed', { period: `${periodMs}ms` }, 2);
    this.#wakeup.wake();
  }

  /**
   * The period of a stream that proves complete is over and a relist has followed, which took so long: the next one is longer,
   * unless something came up meanwhile. The change of which an event is missing is known by then, or soon, and brings the period back
   * at once.
   */
  noteQuietRelist(durationMs: number): void {
    if (!this.#eventsProveComplete) return;
    // A list that takes long leaves less of the threshold for the wait before it.
    const tookLong = durationMs > this.#options.cadence.stretchedPeriodMs;
    this.#quietRelists = tookLong ? 1 : this.#quietRelists + 1;
  }

  /** A relist failed: what is stretched begins anew. */
  noteFailedRelist(): void {
    this.#quietRelists = Math.min(1, this.#quietRelists);
  }

  /**
   * Waits for the end of the period that begins now and may change while it runs. Resolves with whether the stream proves
   * complete in the end; at once when the signal aborts.
   */
  async untilOver(signal: AbortSignal): Promise<boolean> {
    const { clock, cadence, looks } = this.#options;
    const beganMs = clock.monotonicMs();
    for (;;) {
      this.reconsider();
      const listFailed = looks.lastListError !== undefined;
      const periodMs = listFailed ? cadence.relistPeriodMs : this.#cadence.periodMs;
      const leftMs = beganMs + periodMs - clock.monotonicMs();
      if (leftMs <= 0 || signal.aborted) return this.#eventsProveComplete && !listFailed;
      try {
        await this.#wakeup.wait(clock, leftMs, signal);
      } catch {
        return false;
      }
    }
  }

  get #eventsProveComplete(): boolean {
    const { cadence, stream } = this.#options;
    return provesComplete(cadence, { stream: stream.info.state, announcedInARow: stream.announcedInARow });
  }

  #computeCadence(): Cadence {
    const { cadence, stream } = this.#options;
    return computeCadence(cadence, {
      stream: stream.info.state,
      announcedInARow: stream.announcedInARow,
      quietRelists: this.#quietRelists,
    });
  }
}
