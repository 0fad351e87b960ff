import { type Clock } from '#base/time/clock.js';
import { hasCode } from '#base/errors/errors.js';
import { type PodRecord } from './pod-records.js';
import { computeStuckPods, type StuckPods } from './stuck-pods.js';

/** What {@link DuePods} works with. */
export interface DuePodsOptions {
  readonly clock: Clock;
  /** The delay of a pod that failed is over; it is still due. */
  readonly onRetry: (record: PodRecord) => void;
}

/** After how long a pod is tried again when the runtime was not there at all, in milliseconds. */
const RUNTIME_AWAY_RETRY_MS = 1_000;

/**
 * The pods whose status is to be fetched and has not been: since when, what is wrong with each, and when it is tried
 * again.
 *
 * A pod stays due until an inspection has shown all there was to see; what the global stamp does not cover is here.
 */
export class DuePods {
  readonly #clock: Clock;
  readonly #onRetry: (record: PodRecord) => void;
  readonly #sinceMs = new Map<PodRecord, number>();
  #lastSuccessMs: number | undefined;
  #retrying = false;

  constructor(options: DuePodsOptions) {
    this.#clock = options.clock;
    this.#onRetry = options.onRetry;
  }

  get size(): number {
    return this.#sinceMs.size;
  }

  has(record: PodRecord): boolean {
    return this.#sinceMs.has(record);
  }

  [Symbol.iterator](): IterableIterator<PodRecord> {
    return this.#sinceMs.keys();
  }

  /** The pod is due; one that was due already is so since then. */
  add(record: PodRecord): void {
    if (!this.#sinceMs.has(record)) this.#sinceMs.set(record, this.#clock.monotonicMs());
  }

  /** Nothing is due of the pod any more, or it is gone: no timer is left for it. */
  delete(record: PodRecord): void {
    record.retryTimer?.cancel();
    record.retryTimer = undefined;
    record.trouble = undefined;
    this.#sinceMs.delete(record);
  }

  /** Retries of failed inspections are made by timer from now on. */
  startRetries(): void {
    this.#retrying = true;
    for (const record of this.#sinceMs.keys()) if (record.trouble !== undefined) this.#scheduleRetry(record);
  }

  /** Leaves no timer behind. What was due stays due. */
  stopRetries(): void {
    this.#retrying = false;
    for (const record of this.#sinceMs.keys()) record.retryTimer?.cancel();
  }

  /**
   * Whether the pod is left to its delay. `ignoreDelay` tries one that failed all the same, yet none whose status
   * hangs: each try may cost the runtime a thread.
   */
  mustWait(record: PodRecord, ignoreDelay: boolean): boolean {
    return record.retryAtMs > this.#clock.monotonicMs() && (record.slow || !ignoreDelay);
  }

  /** The runtime answers again after it did not: nobody waits out a delay that it caused. */
  forgetDelays(): void {
    for (const record of this.#sinceMs.keys()) record.retryAtMs = 0;
  }

  /** The runtime has answered for some pod, due or not. */
  noteAnswer(): void {
    this.#lastSuccessMs = this.#clock.monotonicMs();
  }

  /** An inspection of the pod has succeeded. It may still be due: more may have happened meanwhile. */
  noteSuccess(record: PodRecord): void {
    this.noteAnswer();
    record.slow = false;
    record.trouble = undefined;
    record.retryAtMs = 0;
    record.backoff.reset();
  }

  /** The inspection under way has turned out to be slow: nobody waits for it any longer. */
  noteSlow(record: PodRecord): void {
    record.slow = true;
    record.trouble ??= {
      sinceMs: this.#clock.monotonicMs(),
      sinceWallMs: this.#clock.now(),
      error: undefined,
    };
  }

  /** An inspection of the pod has failed: decides when it is tried again. */
  noteFailure(record: PodRecord, error: Error): void {
    const now = this.#clock.monotonicMs();
    if (hasCode(error, 'CRI_UNAVAILABLE')) {
      // The runtime is away for everybody: that says nothing about this pod, and must not cost it a long delay.
      record.slow = false;
      record.retryAtMs = now + RUNTIME_AWAY_RETRY_MS;
    } else {
      record.slow = hasCode(error, 'INSPECTION_DEADLINE', 'INSPECTION_DISPLACED', 'CRI_DEADLINE_EXCEEDED');
      record.trouble ??= { sinceMs: now, sinceWallMs: this.#clock.now(), error };
      record.trouble.error = error;
      record.retryAtMs = now + record.backoff.nextMs();
    }
    if (this.#retrying) this.#scheduleRetry(record);
  }

  /** For how long pods have been due without the runtime answering for any, in milliseconds; 0 when all is well. */
  fruitlessMs(): number {
    let oldestDueMs: number | undefined;
    for (const sinceMs of this.#sinceMs.values()) {
      if (oldestDueMs === undefined || sinceMs < oldestDueMs) oldestDueMs = sinceMs;
    }
    if (oldestDueMs === undefined) return 0;
    return this.#clock.monotonicMs() - Math.max(oldestDueMs, this.#lastSuccessMs ?? oldestDueMs);
  }

  /** Pods whose inspection hangs or fails, longest first; at most `limit` of them by name. */
  stuckPods(limit: number): StuckPods {
    return computeStuckPods(this.#sinceMs.keys(), this.#clock.monotonicMs(), limit);
  }

  #scheduleRetry(record: PodRecord): void {
    record.retryTimer?.cancel();
    const delayMs = Math.max(0, record.retryAtMs - this.#clock.monotonicMs());
    record.retryTimer = this.#clock.setTimer(
      delayMs,
      () => {
        // Timers count in whole milliseconds and may be a little early: who goes by the time would wait on, and no timer is left.
        record.retryAtMs = 0;
        if (this.#sinceMs.has(record)) this.#onRetry(record);
      },
      { unref: true },
    );
  }
}
