import { type Publisher } from '#base/channels/publishing-channel.js';
import { emptyPodStatus, type PodStatus, type Runtime } from '../../observed/runtime.js';
import { type Clock, type Stamp } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { areRemovals, diffPods, diffVanished, hasDeath, hasUnreplacedEnd } from '../diff.js';
import { DuePods } from '../due-pods.js';
import { EarlyExits } from '../announced/early-exits.js';
import { type PodLifecycleEvent, type Trigger } from '../pod-lifecycle-event.js';
import {
  beginAttempt,
  computeNews,
  type InspectionAttempt,
  putBack,
  withoutGone,
} from './inspection-attempt.js';
import { InspectionPool } from './inspection-pool.js';
import { OomRecheck } from '../announced/oom-recheck.js';
import { type EventContext, toListEvents } from '../lifecycle-events.js';
import { logTransitions } from '../log-transitions.js';
import { type PodCache } from '../pod-cache.js';
import { type PodRecord, type PodRecords } from '../pod-records.js';
import { RuntimeProbe } from '../runtime-probe.js';
import { type StuckPods } from '../stuck-pods.js';
import { EventChecks } from '../announced/event-checks.js';
import { EventInspections, type EventInspectionsOptions } from '../announced/event-inspections.js';
import { type EventAccuracyStats, EventAccuracy } from '../announced/event-accuracy.js';
import { type WatchConditions } from '../watch-conditions.js';

/** The state and the callbacks of the inspector. */
export interface InspectorOptions extends Omit<EventInspectionsOptions, 'trust'>, Publisher {
  readonly runtime: Runtime;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly cache: PodCache;
  readonly records: PodRecords;
  readonly conditions: WatchConditions;
  readonly concurrency: number;
  readonly slowAfterMs: number;
  readonly deadlineMs: number;
  /** How many statuses in events have to prove true before events are trusted. */
  readonly believedAfter: number;
  /** Lets the event loop turn once between the ends of two inspections (default: setImmediate). */
  readonly yieldToLoop: (() => Promise<unknown>) | undefined;
  /** Delivers events to every subscriber; synchronous. */
  readonly deliver: (events: readonly PodLifecycleEvent[]) => void;
}

/** Counts of {@link Inspector}. */
export interface InspectorStats {
  readonly inspections: number;
  readonly failures: number;
  readonly displaced: number;
  readonly queued: number;
  readonly due: number;
  readonly told: EventAccuracyStats;
  /** Exits that were published before a list showed them. */
  readonly announcedEarly: number;
}

/** How many inspections may hang outside the budget, as a multiple of the concurrency. */
const SLOW_LIMIT_FACTOR = 4;
/** The reason of our own cancellations, which count for nothing. */
const STOPPED = new Error('the event generator was stopped');

/**
 * Fetches the status of due pods. On success it writes the cache, delivers the events and advances the
 * record, in this order and in one step.
 *
 * Some changes need no status call: removals whose exits were published before, and changes that an event of
 * the runtime describes completely, once such events have proven themselves ({@link EventInspections}). An
 * exit in such an event is published early if nothing else is new ({@link EarlyExits}).
 *
 * The reason of a killed container may still change later without any notice: see {@link OomRecheck}.
 *
 * One inspection per pod runs at a time. A failed one leaves the record unchanged and the pod due: it is
 * retried at the next list, later with growing delays.
 */
export class Inspector {
  /** Publishes exits straight from events, and checks them against lists. */
  readonly earlyExits: EarlyExits;
  readonly #options: InspectorOptions;
  readonly #pool: InspectionPool;
  readonly #probe: RuntimeProbe;
  readonly #due: DuePods;
  readonly #accuracy: EventAccuracy;
  readonly #eventInspections: EventInspections;
  readonly #checks: EventChecks;
  readonly #lateReasons: OomRecheck;
  #inspections = 0;
  #failures = 0;

  constructor(options: InspectorOptions) {
    this.#options = options;
    this.#accuracy = new EventAccuracy(options);
    this.#eventInspections = new EventInspections({ ...options, trust: this.#accuracy });
    this.#pool = new InspectionPool({
      clock: options.clock,
      channels: options.channels,
      concurrency: options.concurrency,
      slowAfterMs: options.slowAfterMs,
      slowLimit: options.concurrency * SLOW_LIMIT_FACTOR,
      deadlineMs: options.deadlineMs,
      yieldToLoop: options.yieldToLoop,
    });
    const { runtime, clock, logger, records } = options;
    this.#due = new DuePods({
      clock,
      onRetry: (record) => {
        void this.consider(record, 'request', { ignoreDelay: true });
        this.probe();
      },
    });
    this.#checks = new EventChecks({ runtime, logger, pool: this.#pool, trust: this.#accuracy });
    this.#lateReasons = new OomRecheck({ ...options, pool: this.#pool });
    this.earlyExits = new EarlyExits({
      ...options,
      trust: this.#accuracy,
      isDue: (record) => this.#due.has(record),
      write: (record, attempt, { status, events }) => this.#write(record, attempt, status, events),
      check: (seen, status) => this.#checks.check(seen, status),
    });
    this.#probe = new RuntimeProbe({
      runtime,
      clock,
      logger,
      pool: this.#pool,
      candidates: () => [...records].filter((record) => !this.#due.has(record)),
      onAnswer: () => this.#due.noteAnswer(),
    });
  }

  /** Counters for metrics. */
  get stats(): InspectorStats {
    const { displaced, queued } = this.#pool;
    return {
      inspections: this.#inspections + this.#probe.probes + this.#checks.begun + this.#lateReasons.begun,
      failures: this.#failures + this.#probe.failures + this.#checks.failures + this.#lateReasons.failures,
      displaced,
      queued,
      due: this.#due.size,
      told: this.#accuracy.stats,
      announcedEarly: this.earlyExits.announced,
    };
  }

  /** Running inspections, oldest first. */
  inFlight(): ReturnType<InspectionPool['inFlight']> {
    return this.#pool.inFlight();
  }

  /**
   * Starts the timers for retries of failed inspections and for rechecks of killed containers, until stopped.
   */
  startRetries(): void {
    this.#due.startRetries();
    this.#lateReasons.start();
  }

  /** Cancels running inspections and all timers. Everything due stays due, and the next list inspects it. */
  stop(): void {
    this.#due.stopRetries();
    this.#probe.cancel(STOPPED);
    this.#checks.cancel(STOPPED);
    this.#lateReasons.stop(STOPPED);
    for (const record of this.#due) record.inspection?.cancel(STOPPED);
  }

  /** Drops the delays when the runtime answers again, as it had caused them. */
  forgetDelays(): void {
    this.#due.forgetDelays();
  }

  /** Stops trusting events, as they may come from another runtime from now on. */
  distrustEvents(): void {
    this.#accuracy.reset();
  }

  /**
   * Handles a list entry of the pod, and inspects the pod if necessary.
   *
   * Returns a promise that a relist waits for: it resolves when the inspection is done or slow. Undefined if
   * nothing is due.
   */
  consider(
    record: PodRecord,
    trigger: Trigger,
    options: { readonly ignoreDelay: boolean },
  ): Promise<void> | undefined {
    const { cache, conditions } = this.#options;
    const { pod, accepted, seen } = record;
    const changes = diffPods(accepted, seen);
    const wanted = changes.length > 0 || record.hasFleeting || record.reinspect || conditions.has(pod.uid);
    if (!wanted && record.inspection === undefined) {
      record.accept(seen);
      this.#settle(record);
      return undefined;
    }
    const isAsKnown = !this.#due.has(record) && !record.reinspect && cache.get(pod.uid).error === undefined;
    if (isAsKnown && !record.hasFleeting && !conditions.has(pod.uid)) {
      const known = cache.get(pod.uid).status;
      const status = areRemovals(changes)
        ? withoutGone(known, seen)
        : this.#eventInspections.find(record, known);
      if (status !== undefined) {
        this.#acceptKnown(record, trigger, status);
        return undefined;
      }
    }
    cache.markBehind(pod.uid);
    this.#due.add(record);
    if (wanted) record.trigger ??= trigger;
    const hasDied = accepted === undefined ? hasUnreplacedEnd(seen) : hasDeath(changes);
    const urgent = hasDied || record.hasFleeting;
    if (record.inspection !== undefined) {
      if (urgent) record.inspection.hurry();
      return record.slow ? undefined : this.#untilTakenIn(record);
    }
    if (this.#due.mustWait(record, options.ignoreDelay)) return undefined;
    this.#inspect(record, urgent);
    return record.inspected;
  }

  /**
   * Waits for the running inspection, and for the next one if this list may show more than the running one
   * saw.
   */
  async #untilTakenIn(record: PodRecord): Promise<void> {
    await record.inspected;
    if (record.inspection !== undefined && !record.slow) await record.inspected;
  }

  /** Publishes at once that the pod is gone, as a list showed, whatever an inspection of it does. */
  remove(record: PodRecord, stamp: Stamp, trigger: Trigger): void {
    const { records, cache, conditions, clock } = this.#options;
    const { pod } = record;
    this.#due.delete(record);
    record.inspection?.cancel(new Error('the pod is gone'));
    records.delete(pod.uid);
    conditions.forget(pod.uid);
    const status = cache.getLastKnown(pod.uid);
    cache.delete(pod.uid, stamp);
    const context = {
      pod,
      owner: record.seen.owner,
      trigger: record.trigger ?? trigger,
      stamp,
      observedAtMs: clock.now(),
    };
    const changes = diffVanished(record.accepted, record.seen);
    logTransitions(this.#options.logger, pod.uid, record.accepted ?? record.seen, undefined);
    this.#options.deliver(toListEvents(changes, record.fleeting(), [status], context, record.reinspect));
  }

  /** Pods whose inspection hangs or fails, longest first; at most `limit`. */
  stuckPods(limit: number): StuckPods {
    return this.#due.stuckPods(limit);
  }

  /** How long pods have been due without any inspection succeeding, in milliseconds; 0 when all is well. */
  fruitlessMs(): number {
    return this.#due.fruitlessMs();
  }

  /** Inspects a pod that is not due, if it is time to check whether the runtime answers for any. */
  probe(): void {
    this.#probe.consider(this.fruitlessMs());
  }

  #inspect(record: PodRecord, urgent: boolean): void {
    const { runtime, conditions } = this.#options;
    const { pod } = record;
    let begun: InspectionAttempt | undefined;
    const handle = this.#pool.submit<PodStatus>({
      pod,
      urgent,
      knownSlow: record.slow,
      run: async (signal) => {
        // Everything seen while it waited in the queue is inspected in one go.
        begun = beginAttempt(record, conditions);
        // An event from before the call is older than its answer, and must not replace it later.
        this.#options.forgetEventStatuses(pod.uid);
        return await runtime.getPodStatus(begun.snapshot, signal);
      },
    });
    record.inspection = handle;
    this.#inspections++;
    const budgetEnd = handle.budgetEnd.then(() => {
      if (record.inspection === handle) this.#due.noteSlow(record);
    });
    const ended = handle.result.then(
      (status) => {
        if (this.#isGone(record)) return;
        record.inspection = undefined;
        try {
          this.#accept(record, begun!, status);
        } catch (error) {
          // A status that makes no sense is a failure of this pod alone.
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

  /**
   * Accepts a status without a call: nothing has changed in what is left, or an event described all of it.
   */
  #acceptKnown(record: PodRecord, trigger: Trigger, status: PodStatus): void {
    const { cache, conditions, clock } = this.#options;
    record.trigger ??= trigger;
    const attempt = beginAttempt(record, conditions);
    const known = cache.get(record.pod.uid).status;
    const news = computeNews(record, attempt, status, known, clock.now());
    this.#write(record, attempt, news.status, news.events);
    this.#settle(record);
  }

  /** Moves cache, events and record together; nothing may throw in here. */
  #write(
    record: PodRecord,
    attempt: InspectionAttempt,
    status: PodStatus,
    events: readonly PodLifecycleEvent[],
  ): void {
    const { cache, logger } = this.#options;
    const { pod } = record;
    record.ips = status.ips;
    cache.set(pod.uid, status, undefined, attempt.stamp);
    logger.info('PLEG: Write status', { pod, podUID: pod.uid }, 4);
    logTransitions(logger, pod.uid, record.accepted, attempt.snapshot);
    this.#options.deliver(events);
    record.accept(attempt.snapshot);
    this.#lateReasons.note(events);
  }

  #accept(record: PodRecord, attempt: InspectionAttempt, fetched: PodStatus): void {
    const { cache, clock } = this.#options;
    const known = cache.getLastKnown(record.pod.uid);
    const { status, events, context } = computeNews(record, attempt, fetched, known, clock.now());
    // From here on nothing throws.
    this.#eventInspections.compare(record, attempt.snapshot, fetched);
    this.#due.noteSuccess(record);
    this.#write(record, attempt, status, [...events, ...this.#conditionsMet(attempt, status, context)]);
    if (record.seen === attempt.snapshot && !record.reinspect) this.#settle(record);
    else void this.consider(record, record.trigger ?? 'request', { ignoreDelay: true });
  }

  #conditionsMet(
    { conditions }: InspectionAttempt,
    status: PodStatus,
    context: EventContext,
  ): PodLifecycleEvent[] {
    const { uid } = context.pod;
    const met = this.#options.conditions.completeMet(uid, conditions, status, (conditionKey, error) =>
      this.#options.logger.error('Watch condition could not be evaluated', error, {
        podUID: uid,
        conditionKey,
      }),
    );
    return met.map((conditionKey) => ({ type: 'ConditionMet', ...context, conditionKey }));
  }

  #fail(record: PodRecord, attempt: InspectionAttempt | undefined, error: Error): void {
    const { cache, logger } = this.#options;
    const { pod } = record;
    this.#failures++;
    record.reinspect = true;
    record.trigger = attempt?.trigger ?? record.trigger;
    cache.set(pod.uid, { ...emptyPodStatus(pod.uid), ...pod }, error, attempt?.stamp ?? record.seenStamp);
    this.#due.noteFailure(record, error);
    logger.error('PLEG: Ignoring events for pod', error, { pod, podUID: pod.uid });
  }

  #settle(record: PodRecord): void {
    const { cache } = this.#options;
    record.trigger = undefined;
    this.#due.delete(record);
    cache.markCurrent(record.pod.uid);
    // A list that found the same meanwhile did not update the cache; its requesters are answered now.
    cache.observe(record.pod.uid, record.seenStamp);
  }

  #isGone(record: PodRecord): boolean {
    return this.#options.records.find(record.pod.uid) !== record;
  }
}
