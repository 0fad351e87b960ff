import { type PodRef, formatPod } from '../model/pod-ref.js';
import { emptyPodStatus, type ObservedPod, type PodStatus, type Runtime } from '../runtime/runtime.js';
import { type Clock, type Stamp } from '../util/clock.js';
import { hasCode } from '../util/errors.js';
import { type Logger } from '../util/logger.js';
import { diffPods, diffVanished, hasDeath } from './diff.js';
import { type PodLifecycleEvent, type Trigger } from './events.js';
import { InspectionPool } from './inspection-pool.js';
import { type EventContext, toLookEvents } from './lifecycle-events.js';
import { type PodCache } from './pod-cache.js';
import { type PodRecord, type PodRecords } from './pod-records.js';
import { RuntimeProbe } from './runtime-probe.js';
import { computeStuckPods, type StuckPods } from './stuck-pods.js';
import { type WatchConditions } from './watch-conditions.js';

/** What the inspector works on and reports to. */
export interface InspectorOptions {
  readonly runtime: Runtime;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly cache: PodCache;
  readonly records: PodRecords;
  readonly conditions: WatchConditions;
  readonly concurrency: number;
  readonly slowAfterMs: number;
  readonly deadlineMs: number;
  /** Hands events to every subscriber; synchronous. */
  readonly deliver: (events: readonly PodLifecycleEvent[]) => void;
}

/** So many times the concurrency may hang outside of the budget. */
const SLOW_LIMIT_FACTOR = 4;
/** After how long a pod is tried again when the runtime was not there at all, in milliseconds. */
const RUNTIME_AWAY_RETRY_MS = 1_000;
/** Why an inspection was cancelled by ourselves: it counts for nothing. */
const STOPPED = new Error('the event generator was stopped');

/**
 * Fetches the status of pods that are due, and on success writes the cache, hands out the events and advances the
 * record, in this order and in one go.
 *
 * One inspection per pod at a time. A failed one leaves the record where it is and the pod due: it is tried again
 * at the next look, later with growing delays.
 */
export class Inspector {
  readonly #options: InspectorOptions;
  readonly #pool: InspectionPool;
  readonly #probe: RuntimeProbe;
  /** Due and not done: what the global stamp does not cover. */
  readonly #due = new Map<PodRecord, number>();
  #lastSuccessMs: number | undefined;
  #retrying = false;
  #inspections = 0;
  #failures = 0;

  constructor(options: InspectorOptions) {
    this.#options = options;
    this.#pool = new InspectionPool({
      clock: options.clock,
      concurrency: options.concurrency,
      slowAfterMs: options.slowAfterMs,
      slowLimit: options.concurrency * SLOW_LIMIT_FACTOR,
      deadlineMs: options.deadlineMs,
    });
    const { runtime, clock, logger, records } = options;
    this.#probe = new RuntimeProbe({
      runtime,
      clock,
      logger,
      pool: this.#pool,
      candidates: () => [...records].filter((record) => !this.#due.has(record)),
      onAnswer: () => (this.#lastSuccessMs = clock.monotonicMs()),
    });
  }

  /** Counters for metrics. */
  get stats(): { inspections: number; failures: number; displaced: number; queued: number; due: number } {
    const { displaced, queued } = this.#pool;
    return {
      inspections: this.#inspections + this.#probe.probes,
      failures: this.#failures + this.#probe.failures,
      displaced,
      queued,
      due: this.#due.size,
    };
  }

  /** Inspections under way, oldest first. */
  inFlight(): ReturnType<InspectionPool['inFlight']> {
    return this.#pool.inFlight();
  }

  /** Retries of failed inspections are made by timer from now on, until stopped. */
  startRetries(): void {
    this.#retrying = true;
    for (const record of this.#due.keys()) if (record.trouble !== undefined) this.#scheduleRetry(record);
  }

  /**
   * Cancels what is under way and leaves no timer behind. Whatever was due stays due, as if it had not been begun:
   * the next look inspects it.
   */
  stop(): void {
    this.#retrying = false;
    this.#probe.cancel(STOPPED);
    for (const record of this.#due.keys()) {
      record.retryTimer?.cancel();
      record.inspection?.cancel(STOPPED);
    }
  }

  /** The runtime answers again after it did not: nobody waits out a delay that it caused. */
  forgetDelays(): void {
    for (const record of this.#due.keys()) record.retryAtMs = 0;
  }

  /**
   * A look has shown the pod. Inspects it if that is called for.
   *
   * Returns what a relist is to wait for: resolves when the inspection is done or slow. Undefined when nothing is due.
   */
  consider(
    record: PodRecord,
    trigger: Trigger,
    options: { ignoreDelay: boolean },
  ): Promise<void> | undefined {
    const { cache, conditions, clock } = this.#options;
    const { pod, accepted, seen } = record;
    const changes = diffPods(accepted, seen);
    const wanted = changes.length > 0 || record.hasFleeting || record.reinspect || conditions.has(pod.uid);
    if (!wanted && record.inspection === undefined) {
      record.accept(seen);
      this.#settle(record);
      return undefined;
    }
    cache.markBehind(pod.uid);
    if (!this.#due.has(record)) this.#due.set(record, clock.monotonicMs());
    if (wanted) record.trigger ??= trigger;
    const urgent = hasDeath(changes) || record.hasFleeting;
    if (record.inspection !== undefined) {
      if (urgent) record.inspection.hurry();
      return record.slow ? undefined : this.#untilTakenIn(record);
    }
    // A pod whose status hangs is left to its delay even when somebody asks: each try may cost the runtime a thread.
    const delayed = record.retryAtMs > clock.monotonicMs() && (record.slow || !options.ignoreDelay);
    if (delayed) return undefined;
    this.#inspect(record, urgent);
    return record.inspected;
  }

  /** Waits for the inspection under way and, as this look may have shown more than that one saw, for the next. */
  async #untilTakenIn(record: PodRecord): Promise<void> {
    await record.inspected;
    if (record.inspection !== undefined && !record.slow) await record.inspected;
  }

  /** A look has shown the pod to be gone: tells of it at once, whatever an inspection of it does. */
  remove(record: PodRecord, stamp: Stamp, trigger: Trigger): void {
    const { records, cache, conditions, clock } = this.#options;
    const { pod } = record;
    record.retryTimer?.cancel();
    record.inspection?.cancel(new Error('the pod is gone'));
    this.#due.delete(record);
    records.delete(pod.uid);
    conditions.forget(pod.uid);
    const { status } = cache.get(pod.uid);
    cache.delete(pod.uid, stamp);
    const context = {
      pod,
      owner: record.seen.owner,
      trigger: record.trigger ?? trigger,
      stamp,
      observedAtMs: clock.now(),
    };
    const changes = diffVanished(record.accepted, record.seen);
    this.#options.deliver(toLookEvents(changes, record.fleeting(), [status], context, record.reinspect));
  }

  /** Pods whose inspection hangs or fails, longest first; at most `limit` of them. */
  stuckPods(limit: number): StuckPods {
    return computeStuckPods(this.#due.keys(), this.#options.clock.monotonicMs(), limit);
  }

  /** For how long pods have been due without any inspection succeeding, in milliseconds; 0 when all is well. */
  fruitlessMs(): number {
    let oldestDueMs: number | undefined;
    for (const dueMs of this.#due.values()) {
      if (oldestDueMs === undefined || dueMs < oldestDueMs) oldestDueMs = dueMs;
    }
    if (oldestDueMs === undefined) return 0;
    const sinceMs = Math.max(oldestDueMs, this.#lastSuccessMs ?? oldestDueMs);
    return this.#options.clock.monotonicMs() - sinceMs;
  }

  /** Inspects a pod that is not due, if it is time to find out whether the runtime answers for any. */
  probe(): void {
    this.#probe.consider(this.fruitlessMs());
  }

  #inspect(record: PodRecord, urgent: boolean): void {
    const { runtime, clock, conditions } = this.#options;
    const { pod } = record;
    let begun: Attempt | undefined;
    const handle = this.#pool.submit<PodStatus>({
      pod,
      urgent,
      knownSlow: record.slow,
      run: async (signal) => {
        // What was seen while it stood in the queue is inspected in one go.
        begun = {
          snapshot: record.seen,
          stamp: record.seenStamp,
          reinspection: record.reinspect,
          trigger: record.trigger ?? 'request',
          conditions: conditions.snapshot(pod.uid),
        };
        record.reinspect = false;
        record.trigger = undefined;
        return await runtime.getPodStatus(begun.snapshot, signal);
      },
    });
    record.inspection = handle;
    this.#inspections++;
    const budgetEnd = handle.budgetEnd.then(() => {
      if (record.inspection !== handle) return;
      record.slow = true;
      record.trouble ??= { sinceMs: clock.monotonicMs(), sinceWallMs: clock.now(), error: undefined };
    });
    const ended = handle.result.then(
      (status) => {
        if (this.#isGone(record)) return;
        record.inspection = undefined;
        try {
          this.#accept(record, begun!, status);
        } catch (error) {
          // A status that makes no sense is one more way to fail, of this pod alone.
          this.#fail(record, begun, error as Error);
        }
      },
      (error: unknown) => {
        if (this.#isGone(record)) return;
        record.inspection = undefined;
        if (error === STOPPED) putBack(record, begun);
        else this.#fail(record, begun, error as Error);
      },
    );
    record.inspected = Promise.race([budgetEnd, ended]);
  }

  #accept(record: PodRecord, attempt: Attempt, fetched: PodStatus): void {
    const { cache, clock, logger } = this.#options;
    const { pod } = record;
    const status = keepIps(record, fetched);
    const context = {
      pod,
      owner: attempt.snapshot.owner,
      trigger: attempt.trigger,
      stamp: attempt.stamp,
      observedAtMs: clock.now(),
    };
    const changes = diffPods(record.accepted, attempt.snapshot);
    const fleeting = record.fleeting(attempt.snapshot);
    const statuses = [status, cache.get(pod.uid).status];
    const events = toLookEvents(changes, fleeting, statuses, context, attempt.reinspection);
    // From here on nothing throws: cache, events and record move together or not at all.
    this.#lastSuccessMs = clock.monotonicMs();
    record.slow = false;
    record.trouble = undefined;
    record.retryAtMs = 0;
    record.backoff.reset();
    record.ips = status.ips;
    cache.set(pod.uid, status, undefined, attempt.stamp);
    logger.info('PLEG: Write status', { pod: formatPod(pod), podUID: pod.uid }, 4);
    this.#options.deliver([...events, ...this.#conditionsMet(attempt, status, context)]);
    record.accept(attempt.snapshot);
    if (record.seen === attempt.snapshot && !record.reinspect) this.#settle(record);
    else void this.consider(record, record.trigger ?? 'request', { ignoreDelay: true });
  }

  #conditionsMet(attempt: Attempt, status: PodStatus, context: EventContext): PodLifecycleEvent[] {
    const { conditions } = this.#options;
    const { pod } = context;
    return attempt.conditions
      .filter((watched) => this.#isMet(pod, watched, status) && conditions.complete(pod.uid, watched))
      .map(({ key }) => ({ type: 'ConditionMet', ...context, conditionKey: key }));
  }

  #fail(record: PodRecord, attempt: Attempt | undefined, error: Error): void {
    const { cache, clock, logger } = this.#options;
    const { pod } = record;
    this.#failures++;
    record.reinspect = true;
    record.trigger = attempt?.trigger ?? record.trigger;
    cache.set(pod.uid, { ...emptyPodStatus(pod.uid), ...pod }, error, attempt?.stamp ?? record.seenStamp);
    const now = clock.monotonicMs();
    if (hasCode(error, 'CRI_UNAVAILABLE')) {
      // The runtime is away for everybody: that says nothing about this pod, and must not cost it a long delay.
      record.slow = false;
      record.retryAtMs = now + RUNTIME_AWAY_RETRY_MS;
    } else {
      record.slow = hasCode(error, 'INSPECTION_DEADLINE', 'INSPECTION_DISPLACED', 'CRI_DEADLINE_EXCEEDED');
      record.trouble ??= { sinceMs: now, sinceWallMs: clock.now(), error };
      record.trouble.error = error;
      record.retryAtMs = now + record.backoff.nextMs();
    }
    logger.error('PLEG: Ignoring events for pod', error, { pod: formatPod(pod), podUID: pod.uid });
    if (this.#retrying) this.#scheduleRetry(record);
  }

  #scheduleRetry(record: PodRecord): void {
    const { clock } = this.#options;
    record.retryTimer?.cancel();
    const delayMs = Math.max(0, record.retryAtMs - clock.monotonicMs());
    record.retryTimer = clock.setTimer(
      delayMs,
      () => {
        if (!this.#due.has(record)) return;
        void this.consider(record, 'request', { ignoreDelay: true });
        this.probe();
      },
      { unref: true },
    );
  }

  #settle(record: PodRecord): void {
    record.retryTimer?.cancel();
    record.retryTimer = undefined;
    record.trouble = undefined;
    record.trigger = undefined;
    this.#due.delete(record);
    this.#options.cache.markCurrent(record.pod.uid);
  }

  #isGone(record: PodRecord): boolean {
    return this.#options.records.find(record.pod.uid) !== record;
  }

  #isMet(pod: PodRef, { key, condition }: Attempt['conditions'][number], status: PodStatus): boolean {
    try {
      return condition(status);
    } catch (error) {
      this.#options.logger.error('Watch condition could not be evaluated', error, {
        podUID: pod.uid,
        conditionKey: key,
      });
      return false;
    }
  }
}

/** What stood when an inspection began. */
interface Attempt {
  readonly snapshot: ObservedPod;
  readonly stamp: Stamp;
  readonly reinspection: boolean;
  readonly trigger: Trigger;
  readonly conditions: ReturnType<WatchConditions['snapshot']>;
}

/** What was taken from the record when the inspection began is due again. */
function putBack(record: PodRecord, attempt: Attempt | undefined): void {
  if (attempt === undefined) return;
  record.reinspect ||= attempt.reinspection;
  record.trigger ??= attempt.trigger;
}

/** A pod being torn down has lost its addresses already; what it had is what people still want to know. */
function keepIps(record: PodRecord, status: PodStatus): PodStatus {
  if (status.ips.length > 0 || record.ips.length === 0) return status;
  const running = status.sandboxes.some((sandbox) => sandbox.state === 'running');
  return running ? status : { ...status, ips: record.ips };
}
