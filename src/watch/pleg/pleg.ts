/**
 * The Pod Lifecycle Event Generator: finds out what happened to every container, and tells everybody.
 *
 * In: looks at the runtime (lists of all pods, or of one), each set off by the period, by a request for one pod, or
 * by an event of the runtime, which is a hint: even where an end is told straight from it, the look follows. Out:
 * events to any number of subscribers, the status of every pod in the cache, and health.
 *
 * ```
 * period ───────┐
 * request ──────┼─► look ─► diff with the record ─► inspect what is due ─► cache ─► subscribers ─► record advances
 * event (hint) ─┘   one at a time                   beside one another
 * ```
 *
 * It assumes that no container is created, dies and is removed between two looks: such a one is never seen. Events
 * of the runtime, where there are any, make looks that close.
 *
 * @module
 */
import { type ObservedPod } from '../observed/runtime.js';
import { abortable } from '#base/async/abortable.js';
import { type Clock, type Stamp } from '#base/time/clock.js';
import { PodloopError } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { Wakeup } from '#base/async/wakeup.js';
import { type PodLifecycleEvent } from './events.js';
import { EventStream } from './event-stream.js';
import { Inspector } from './inspection/inspector.js';
import { Looks } from './relist/looks.js';
import { type PodCache } from './pod-cache.js';
import { PodRecords } from './pod-records.js';
import { type PlegOptions, type ResolvedPlegOptions, resolvePlegOptions } from './pleg-options.js';
import { computeHealth, type PlegHealth } from './pleg-health.js';
import { computePlegState, type PlegState } from './pleg-state.js';
import { longestThreshold } from './relist/relist-cadence.js';
import { RelistPeriod } from './relist/relist-period.js';
import { RelistRequests } from './relist/relist-requests.js';
import { Subscription } from './subscription.js';
import { type PodCondition, WatchConditions } from './watch-conditions.js';

/** Looks at single pods that are asked for, before they become one look at all. */
const REQUEST_CAPACITY = 1_000;

/** The generator: see the comment of this module. */
export class Pleg {
  /** The status of every pod; to be read, and waited on, by anybody. */
  readonly cache: PodCache;
  readonly #options: ResolvedPlegOptions;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #records = new PodRecords();
  readonly #conditions = new WatchConditions();
  readonly #inspector: Inspector;
  readonly #requests: RelistRequests;
  readonly #stream: EventStream;
  readonly #looks: Looks;
  readonly #period: RelistPeriod;
  readonly #subscriptions = new Set<Subscription>();
  readonly #lookListeners = new Set<() => void>();
  readonly #eventCounts: Partial<Record<PodLifecycleEvent['type'], number>> = {};
  /** What subscribers that are gone had read, and what was folded for them. */
  readonly #delivered = { delivered: 0, folded: 0 };
  readonly #requestWakeup = new Wakeup();
  #running = false;

  constructor(options: PlegOptions) {
    this.#options = resolvePlegOptions(options);
    const { runtime, clock, logger, cache } = this.#options;
    this.#clock = clock;
    this.#logger = logger;
    this.cache = cache;
    this.#inspector = new Inspector({
      runtime,
      clock,
      logger,
      cache,
      records: this.#records,
      conditions: this.#conditions,
      concurrency: this.#options.inspectConcurrency,
      slowAfterMs: this.#options.inspectBudgetMs,
      deadlineMs: this.#options.inspectDeadlineMs,
      believedAfter: this.#options.believedAfter,
      findTold: (uid, stamp) => this.#stream.findTold(uid, stamp),
      forgetTold: (uid) => this.#stream.forgetTold(uid),
      yieldToLoop: this.#options.yieldToLoop,
      deliver: (events) => this.#deliver(events),
    });
    this.#requests = new RelistRequests({
      clock,
      capacity: REQUEST_CAPACITY,
      onArrival: () => this.#requestWakeup.wake(),
    });
    this.#stream = new EventStream({
      runtime,
      clock,
      logger,
      random: this.#options.random,
      onHint: (uid) => {
        if (uid === undefined) this.#requests.addAll('event');
        else this.#requests.add(uid, 'event');
      },
      onStopped: (uid, containerId, told) => this.#inspector.ends.tell(uid, containerId, told),
      onChange: () => this.#period.reconsider(),
      onUp: () => this.#requests.addAll('relist'),
      onDown: () => this.#inspector.distrustEvents(),
    });
    this.#looks = new Looks({
      runtime,
      clock,
      logger,
      cache,
      records: this.#records,
      conditions: this.#conditions,
      inspector: this.#inspector,
      requests: this.#requests,
      stream: this.#stream,
      listDeadlineMs: this.#options.listDeadlineMs,
      // Not the long deadline of a list: one pod that cannot be listed must not keep the others waiting.
      podListDeadlineMs: this.#options.inspectBudgetMs,
      yieldToLoop: this.#options.yieldToLoop,
      onLooked: () => {
        for (const listener of this.#lookListeners) listener();
      },
    });
    this.#period = new RelistPeriod({
      clock,
      logger,
      cadence: this.#options.cadence,
      stream: this.#stream,
      looks: this.#looks,
    });
    cache.onWait((uid, newerThan) => {
      if (!this.#isOnItsWay(uid, newerThan)) this.#requests.add(uid, 'request');
    });
  }

  /**
   * Looks at all pods now. Resolves once every pod that was due has been inspected or has turned out to be slow;
   * never waits for a slow one. Rejects when the list fails, or with the signal's reason; nothing is deleted then.
   */
  async relist(signal?: AbortSignal): Promise<void> {
    const { inspections } = await this.#looks.atAll({ signal, byHand: true });
    await abortable(inspections, signal);
  }

  /** Asks for a look at one pod, soon. Requests for a pod that is waiting already join. Returns at once. */
  requestRelist(uid: string): void {
    this.#requests.add(uid, 'request');
  }

  /** The next look at the pod fetches its status even if nothing changed; a PodSync tells when it has. */
  requestReinspect(uid: string): void {
    const record = this.#records.find(uid);
    if (record !== undefined) record.reinspect = true;
  }

  /**
   * Inspects the pod at each look until `condition` holds of its status; then a ConditionMet event comes, once.
   * A key that is set again replaces the condition under it.
   */
  watchCondition(uid: string, key: string, condition: PodCondition): void {
    this.#conditions.set(uid, key, condition);
  }

  /** Calls `listener` when a look at all pods has been compared: health may be another now. Returns how to stop that. */
  onLook(listener: () => void): () => void {
    this.#lookListeners.add(listener);
    return () => this.#lookListeners.delete(listener);
  }

  /** The newest look at a pod, which may be newer than its status in the cache; undefined when none has shown it. */
  findObserved(uid: string): ObservedPod | undefined {
    return this.#records.find(uid)?.seen;
  }

  /** A new reader of events made from now on. Close it, or leave its `for await`, when done. */
  subscribe(options?: { capacity?: number }): Subscription {
    const subscription = new Subscription({
      clock: this.#clock,
      capacity: options?.capacity ?? this.#options.queueCapacity,
      onClose: (closed) => this.#forgetSubscription(closed),
    });
    this.#subscriptions.add(subscription);
    return subscription;
  }

  /** Closes every subscription there is: each reader ends after what is queued for it. */
  closeSubscriptions(): void {
    for (const subscription of this.#subscriptions) subscription.close();
  }

  /**
   * Lives until the signal aborts: relists by the period, answers requests, listens to events. Then resolves; calls
   * under way are cancelled. Subscriptions stay open.
   */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#running) {
      throw new PodloopError('PLEG_ALREADY_RUNNING', 'this generator is running already');
    }
    this.#running = true;
    this.#inspector.startRetries();
    try {
      await Promise.all([
        this.#lookByPeriod(signal),
        this.#lookByRequest(signal),
        this.#options.cadence.mode === 'generic' ? undefined : this.#stream.run(signal),
      ]);
    } finally {
      this.#inspector.stop();
      this.#running = false;
    }
  }

  /** How the generator is, as of now: computed when asked, so that a hang shows while it lasts. */
  health(): PlegHealth {
    const now = this.#clock.monotonicMs();
    const { lastSeenMs, listStartedMs, lastListError } = this.#looks;
    const { pods, count } = this.#inspector.stuckPods(100);
    return computeHealth({
      nowMs: this.#clock.now(),
      thresholdMs: this.#period.thresholdMs,
      longestThresholdMs: longestThreshold(this.#options.cadence),
      lastSeenAgoMs: lastSeenMs === undefined ? undefined : now - lastSeenMs,
      thresholdAgeMs: this.#period.thresholdAgeMs,
      listInFlightMs: listStartedMs === undefined ? undefined : now - listStartedMs,
      lastListError,
      fruitlessMs: this.#inspector.fruitlessMs(),
      lastInspectionError: pods[0]?.error,
      stuckPods: pods,
      stuckPodCount: count,
    });
  }

  /** Everything that metrics, debug pages and tests want to know, as of now. */
  state(): PlegState {
    return computePlegState({
      mode: this.#options.cadence.mode,
      periodMs: this.#period.periodMs,
      relists: this.#looks.relists,
      podRelists: this.#looks.podRelists,
      records: this.#records,
      events: this.#eventCounts,
      inspector: this.#inspector,
      requests: this.#requests,
      stream: this.#stream,
      subscriptions: this.#subscriptions,
      delivered: this.#delivered,
    });
  }

  /** The pod was looked at late enough, and its status is about to come: another look would only be one more. */
  #isOnItsWay(uid: string, newerThan: Stamp): boolean {
    const record = this.#records.find(uid);
    return record?.inspection !== undefined && !record.slow && record.seenStamp > newerThan;
  }

  async #lookByPeriod(signal: AbortSignal): Promise<void> {
    let byProvenStream = false;
    for (;;) {
      const startedMs = this.#clock.monotonicMs();
      try {
        const { inspections } = await this.#looks.atAll({ signal, byHand: false });
        if (byProvenStream) this.#period.noteQuietRelist(this.#clock.monotonicMs() - startedMs);
        await this.#giveTime(inspections, signal);
      } catch (error) {
        if (signal.aborted) return;
        this.#period.noteFailedRelist();
        this.#logger.error('GenericPLEG: Unable to retrieve pods', error);
      }
      byProvenStream = await this.#period.untilOver(signal);
      if (signal.aborted) return;
    }
  }

  /**
   * Waits for inspections no longer than for one that is slow. More pods than there are places may hang one after
   * the other; the next look is not to wait for all of them.
   */
  async #giveTime(inspections: Promise<void>, signal: AbortSignal): Promise<void> {
    const enough = new AbortController();
    const inspected = inspections.finally(() => enough.abort());
    const budget = this.#clock.sleep(this.#options.inspectBudgetMs, enough.signal).catch(() => undefined);
    await abortable(Promise.race([inspected, budget]), signal).finally(() => enough.abort());
  }

  async #lookByRequest(signal: AbortSignal): Promise<void> {
    for (;;) {
      try {
        await this.#requestWakeup.wait(this.#clock, undefined, signal);
        while (this.#requests.size > 0 || this.#requests.wantsAll) await this.#answerRequests(signal);
      } catch (error) {
        if (signal.aborted) return;
        this.#logger.error('GenericPLEG: Unable to retrieve pods', error);
        // The period relists once the runtime is back; until then a request would only fail again.
        await this.#clock.sleep(this.#options.cadence.relistPeriodMs, signal).catch(() => undefined);
        this.#requestWakeup.wake();
      }
    }
  }

  async #answerRequests(signal: AbortSignal): Promise<void> {
    // One list of all is cheaper than many lists of one, which the runtime answers by filtering all.
    const manyPods = Math.max(4, this.#records.size / 64);
    if (this.#requests.wantsAll || this.#requests.size > manyPods) {
      await this.#looks.atAll({ signal, byHand: false });
      return;
    }
    await this.#looks.atNextPod(signal);
  }

  #deliver(events: readonly PodLifecycleEvent[]): void {
    for (const event of events) {
      this.#eventCounts[event.type] = (this.#eventCounts[event.type] ?? 0) + 1;
      if (event.type === 'ContainerDied' && event.exitCode !== undefined) {
        this.#logger.info(
          'Generic (PLEG): container finished',
          { podID: event.pod.uid, containerID: event.containerId, exitCode: event.exitCode },
          2,
        );
      }
      for (const subscription of this.#subscriptions) subscription.push(event);
    }
  }

  #forgetSubscription(closed: Subscription): void {
    if (!this.#subscriptions.delete(closed)) return;
    this.#delivered.delivered += closed.stats.delivered;
    this.#delivered.folded += closed.stats.folded;
  }
}
