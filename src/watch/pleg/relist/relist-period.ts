import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { Wakeup } from '#base/async/wakeup.js';
import { type EventStream } from '../event-stream.js';
import { type PodLists } from './pod-lists.js';
import {
  type Cadence,
  type CadenceOptions,
  computeCadence,
  computeListPause,
  provesComplete,
} from './relist-cadence.js';

/** The ports of a {@link RelistPeriod}; the stream and the lists are read each time. */
export interface RelistPeriodOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly cadence: CadenceOptions;
  readonly stream: Pick<EventStream, 'announcedInARow'> & {
    readonly info: Pick<EventStream['info'], 'state'>;
  };
  readonly looks: Pick<PodLists, 'lastListError'>;
}

/**
 * The gap between two relists by the period: its present length, and the wait for its end.
 *
 * The rules are in {@link computeCadence}; this class remembers the history that they need. One loop waits;
 * the other methods may be called meanwhile.
 */
export class RelistPeriod {
  readonly #options: RelistPeriodOptions;
  readonly #wakeup = new Wakeup();
  #cadence: Cadence;
  /** See {@link CadenceInput}. */
  #quietRelists = 0;
  /** See {@link computeListPause}. */
  #listPauseMs = 0;
  /** Monotonic milliseconds. */
  #thresholdSinceMs: number;

  constructor(options: RelistPeriodOptions) {
    this.#options = options;
    this.#cadence = this.#computeCadence();
    this.#thresholdSinceMs = options.clock.monotonicMs();
  }

  /** Milliseconds from the end of one relist to the start of the next, unless the last list failed. */
  get periodMs(): number {
    return this.#cadence.periodMs;
  }

  /** The node is unhealthy when the last success is older than this, in milliseconds. */
  get thresholdMs(): number {
    return this.#cadence.thresholdMs;
  }

  /** How many milliseconds ago the threshold last became shorter. */
  get thresholdAgeMs(): number {
    return this.#options.clock.monotonicMs() - this.#thresholdSinceMs;
  }

  /**
   * Recomputes the period after a change of the stream or its completeness; a running wait adapts at once.
   */
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
   * Notes a relist that found nothing unannounced on a complete stream: the next period is longer.
   *
   * A change with a missing event is known by then, or soon, and resets the period at once.
   */
  noteQuietRelist(durationMs: number): void {
    if (!this.#eventsProveComplete) return;
    // A slow list leaves less of the threshold for the wait before it.
    const tookLong = durationMs > this.#options.cadence.stretchedPeriodMs;
    this.#quietRelists = tookLong ? 1 : this.#quietRelists + 1;
  }

  /** Notes a failed relist: stretching starts over. */
  noteFailedRelist(): void {
    this.#quietRelists = Math.min(1, this.#quietRelists);
  }

  /** Notes how long the last list took, whether it succeeded or not: the pause after a slow one is longer. */
  noteList(durationMs: number): void {
    this.#listPauseMs = computeListPause(this.#options.cadence, durationMs);
  }

  /**
   * Waits for the end of the period that begins now, which may change meanwhile.
   *
   * Resolves with whether the stream proves complete at the end; resolves at once when the signal aborts.
   */
  async untilOver(signal: AbortSignal): Promise<boolean> {
    const { clock, cadence, looks } = this.#options;
    const beganMs = clock.monotonicMs();
    for (;;) {
      this.reconsider();
      const listFailed = looks.lastListError !== undefined;
      const usualMs = listFailed ? cadence.relistPeriodMs : this.#cadence.periodMs;
      const periodMs = Math.max(usualMs, this.#listPauseMs);
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
