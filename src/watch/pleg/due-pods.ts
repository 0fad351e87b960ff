import { type Clock } from '#base/time/clock.js';
import { hasCode } from '#base/errors/errors.js';
import { type PodRecord } from './pod-records.js';
import { computeStuckPods, type StuckPods } from './stuck-pods.js';

/** Options of {@link DuePods}. */
export interface DuePodsOptions {
  readonly clock: Clock;
  /** Called when the delay of a failed pod is over; it is still due. */
  readonly onRetry: (record: PodRecord) => void;
}

/** How long until a pod is retried when the runtime was not there at all, in milliseconds. */
const RUNTIME_AWAY_RETRY_MS = 1_000;

/**
 * The pods that are due for a status call: since when, what is wrong with each, and when to retry.
 *
 * A pod stays due until an inspection has covered everything that lists have shown. The global stamp does not
 * cover these pods.
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

  /** Marks the pod as due; one that was already due stays so since then. */
  add(record: PodRecord): void {
    if (!this.#sinceMs.has(record)) this.#sinceMs.set(record, this.#clock.monotonicMs());
  }

  /** Removes a pod with nothing due any more, or one that is gone, and its timer. */
  delete(record: PodRecord): void {
    record.retryTimer?.cancel();
    record.retryTimer = undefined;
    record.trouble = undefined;
    this.#sinceMs.delete(record);
  }

  /** Starts retrying failed inspections by timer. */
  startRetries(): void {
    this.#retrying = true;
    for (const record of this.#sinceMs.keys()) if (record.trouble !== undefined) this.#scheduleRetry(record);
  }

  /** Cancels all timers. Pods stay due. */
  stopRetries(): void {
    this.#retrying = false;
    for (const record of this.#sinceMs.keys()) record.retryTimer?.cancel();
  }

  /**
   * Whether the pod waits for its retry delay.
   *
   * `ignoreDelay` retries a failed pod at once, but not one whose status call hangs: each attempt may cost
   * the runtime a thread.
   */
  mustWait(record: PodRecord, ignoreDelay: boolean): boolean {
    return record.retryAtMs > this.#clock.monotonicMs() && (record.slow || !ignoreDelay);
  }

  /** Drops the delays when the runtime answers again, as it had caused them. */
  forgetDelays(): void {
    for (const record of this.#sinceMs.keys()) record.retryAtMs = 0;
  }

  /** Notes that the runtime has answered for some pod, due or not. */
  noteAnswer(): void {
    this.#lastSuccessMs = this.#clock.monotonicMs();
  }

  /** Notes a successful inspection of the pod. It may still be due, as more may have happened meanwhile. */
  noteSuccess(record: PodRecord): void {
    this.noteAnswer();
    record.slow = false;
    record.trouble = undefined;
    record.retryAtMs = 0;
    record.backoff.reset();
  }

  /** Notes that the running inspection is slow: nobody waits for it any longer. */
  noteSlow(record: PodRecord): void {
    record.slow = true;
    record.trouble ??= {
      sinceMs: this.#clock.monotonicMs(),
      sinceWallMs: this.#clock.now(),
      error: undefined,
    };
  }

  /** Notes a failed inspection of the pod, and decides when to retry. */
  noteFailure(record: PodRecord, error: Error): void {
    const now = this.#clock.monotonicMs();
    if (hasCode(error, 'CRI_UNAVAILABLE')) {
      // The runtime is away for all pods: that says nothing about this one, and must not cause a long delay.
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

  /** How long pods have been due without an answer for any, in milliseconds; 0 when all is well. */
  fruitlessMs(): number {
    let oldestDueMs: number | undefined;
    for (const sinceMs of this.#sinceMs.values()) {
      if (oldestDueMs === undefined || sinceMs < oldestDueMs) oldestDueMs = sinceMs;
    }
    if (oldestDueMs === undefined) return 0;
    return this.#clock.monotonicMs() - Math.max(oldestDueMs, this.#lastSuccessMs ?? oldestDueMs);
  }

  /** Pods whose inspection hangs or fails, longest first; the names of at most `limit`. */
  stuckPods(limit: number): StuckPods {
    return computeStuckPods(this.#sinceMs.keys(), this.#clock.monotonicMs(), limit);
  }

  #scheduleRetry(record: PodRecord): void {
    record.retryTimer?.cancel();
    const delayMs = Math.max(0, record.retryAtMs - this.#clock.monotonicMs());
    record.retryTimer = this.#clock.setTimer(
      delayMs,
      () => {
        // Timers have whole milliseconds and may fire slightly early. Comparing the time would then wait on
        // without a timer.
        record.retryAtMs = 0;
        if (this.#sinceMs.has(record)) this.#onRetry(record);
      },
      { unref: true },
    );
  }
}
