/**
 * The Pod Lifecycle Event Generator: finds out what happened to every container, and publishes it.
 *
 * In: lists from the runtime (of all pods, or of one), each triggered by the period, by a request for one
 * pod, or by an event of the runtime. An event is a hint: even if an exit is published straight from it, the
 * list follows. Out: events to any number of subscribers, the status of every pod in the cache, and health.
 *
 * ```
 * period ───────┐
 * request ──────┼─► list ─► diff with the record ─► inspect what is due ─► cache ─► subscribers ─► record advances
 * event (hint) ─┘   one at a time                   concurrently
 * ```
 *
 * It assumes that no container is created, dies and is removed between two lists: such a container is never
 * seen. The runtime's events, if there are any, trigger lists that close this gap.
 *
 * @module
 */
import { type Channels } from '#base/channels/publishing-channel.js';
import { type ObservedPod } from '../observed/runtime.js';
import { abortable } from '#base/async/abortable.js';
import { type Clock, type Stamp } from '#base/time/clock.js';
import { PodloopError } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { Wakeup } from '#base/async/wakeup.js';
import { type PodLifecycleEvent } from './pod-lifecycle-event.js';
import { EventStream } from './event-stream.js';
import { Inspector } from './inspection/inspector.js';
import { PodLists } from './relist/pod-lists.js';
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

/** Upper limit of requests for single pods before they fold into one relist of all. */
const REQUEST_CAPACITY = 1_000;

/** The generator: see the comment of this module. */
export class Pleg {
  /** The status of every pod; anybody may read it and wait on it. */
  readonly cache: PodCache;
  /** Where it publishes lists, inspections and events. */
  readonly channels: Channels;
  readonly #options: ResolvedPlegOptions;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #records = new PodRecords();
  readonly #conditions = new WatchConditions();
  readonly #inspector: Inspector;
  readonly #requests: RelistRequests;
  readonly #stream: EventStream;
  readonly #looks: PodLists;
  readonly #period: RelistPeriod;
  readonly #subscriptions = new Set<Subscription>();
  readonly #lookListeners = new Set<() => void>();
  readonly #eventCounts: Partial<Record<PodLifecycleEvent['type'], number>> = {};
  /** What closed subscriptions had delivered and folded. */
  readonly #delivered = { delivered: 0, folded: 0 };
  readonly #requestWakeup = new Wakeup();
  #running = false;

  constructor(options: PlegOptions) {
    this.#options = resolvePlegOptions(options);
    const { runtime, clock, logger, channels, cache } = this.#options;
    this.channels = channels;
    this.#clock = clock;
    this.#logger = logger;
    this.cache = cache;
    this.#inspector = new Inspector({
      runtime,
      clock,
      logger,
      channels,
      cache,
      records: this.#records,
      conditions: this.#conditions,
      concurrency: this.#options.inspectConcurrency,
      slowAfterMs: this.#options.inspectBudgetMs,
      deadlineMs: this.#options.inspectDeadlineMs,
      believedAfter: this.#options.believedAfter,
      findEventStatuses: (uid, stamp) => this.#stream.findEventStatuses(uid, stamp),
      forgetEventStatuses: (uid) => this.#stream.forgetEventStatuses(uid),
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
      channels,
      random: this.#options.random,
      provenAfter: this.#options.cadence.provenAfter,
      onHint: (uid) => {
        if (uid === undefined) this.#requests.addAll('event');
        else this.#requests.add(uid, 'event');
      },
      onStopped: (uid, containerId, told) => this.#inspector.earlyExits.announce(uid, containerId, told),
      onChange: () => this.#period.reconsider(),
      onUp: () => this.#requests.addAll('relist'),
      onDown: () => this.#inspector.distrustEvents(),
    });
    this.#looks = new PodLists({
      runtime,
      clock,
      logger,
      channels,
      cache,
      records: this.#records,
      conditions: this.#conditions,
      inspector: this.#inspector,
      requests: this.#requests,
      stream: this.#stream,
      listDeadlineMs: this.#options.listDeadlineMs,
      // Not the long deadline of a list: one pod that cannot be listed must not block the others.
      podListDeadlineMs: this.#options.inspectBudgetMs,
      yieldToLoop: this.#options.yieldToLoop,
      onCompared: () => {
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
   * Relists all pods now.
   *
   * Resolves once every pod that was due has been inspected or has turned out to be slow; never waits for a
   * slow one. Rejects if the list fails, or with the signal's reason; nothing is deleted then.
   */
  async relist(signal?: AbortSignal): Promise<void> {
    const { inspections } = await this.#looks.listAll({ signal, byHand: true });
    await abortable(inspections, signal);
  }

  /** Requests a list of one pod soon. Requests for a pod that already waits are merged. Returns at once. */
  requestRelist(uid: string): void {
    this.#requests.add(uid, 'request');
  }

  /**
   * Makes the next list of the pod fetch its status even if nothing changed; a PodSync follows when that is
   * done.
   */
  requestReinspect(uid: string): void {
    const record = this.#records.find(uid);
    if (record !== undefined) record.reinspect = true;
  }

  /**
   * Inspects the pod at each list until its status meets `condition`; then a ConditionMet event is published,
   * once.
   *
   * Setting a key again replaces its condition.
   */
  watchCondition(uid: string, key: string, condition: PodCondition): void {
    this.#conditions.set(uid, key, condition);
  }

  /**
   * Calls `listener` after each relist of all pods, as health may have changed. Returns a function that
   * unsubscribes.
   */
  onLook(listener: () => void): () => void {
    this.#lookListeners.add(listener);
    return () => this.#lookListeners.delete(listener);
  }

  /**
   * The newest list entry of a pod, which may be newer than its status in the cache; undefined if no list has
   * shown it.
   */
  findObserved(uid: string): ObservedPod | undefined {
    return this.#records.find(uid)?.seen;
  }

  /** Returns a new reader of events made from now on. Close it, or leave its `for await`, when done. */
  subscribe(options?: { capacity?: number }): Subscription {
    const subscription = new Subscription({
      clock: this.#clock,
      capacity: options?.capacity ?? this.#options.queueCapacity,
      onClose: (closed) => this.#forgetSubscription(closed),
    });
    this.#subscriptions.add(subscription);
    return subscription;
  }

  /** Closes every subscription: each reader ends after the events queued for it. */
  closeSubscriptions(): void {
    for (const subscription of this.#subscriptions) subscription.close();
  }

  /**
   * Runs until the signal aborts: relists by the period, answers requests, subscribes to events.
   *
   * Then it cancels running calls and resolves. Subscriptions stay open.
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

  /** The health of the generator, computed at each call, so that a hang shows while it lasts. */
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

  /** The state for metrics, debug pages and tests, computed at each call. */
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

  /**
   * Whether the pod was listed late enough and its status is about to come, so that another list would be
   * superfluous.
   */
  #isOnItsWay(uid: string, newerThan: Stamp): boolean {
    const record = this.#records.find(uid);
    return record?.inspection !== undefined && !record.slow && record.seenStamp > newerThan;
  }

  async #lookByPeriod(signal: AbortSignal): Promise<void> {
    let byProvenStream = false;
    for (;;) {
      const startedMs = this.#clock.monotonicMs();
      const noteList = (): void => this.#period.noteList(this.#clock.monotonicMs() - startedMs);
      try {
        const { inspections } = await this.#looks.listAll({ signal, byHand: false });
        noteList();
        if (byProvenStream) this.#period.noteQuietRelist(this.#clock.monotonicMs() - startedMs);
        await this.#giveTime(inspections, signal);
      } catch (error) {
        if (signal.aborted) return;
        noteList();
        this.#period.noteFailedRelist();
        this.#logger.error('GenericPLEG: Unable to retrieve pods', error);
      }
      byProvenStream = await this.#period.untilOver(signal);
      if (signal.aborted) return;
    }
  }

  /**
   * Waits for inspections, but no longer than one slow inspection may take.
   *
   * More pods than there are places may hang one after the other, and the next relist must not wait for all
   * of them.
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
    // One list of all pods is cheaper than many lists of one pod: the runtime filters all pods for each of them.
    const manyPods = Math.max(4, this.#records.size / 64);
    if (this.#requests.wantsAll || this.#requests.size > manyPods) {
      await this.#looks.listAll({ signal, byHand: false });
      return;
    }
    await this.#looks.listNextPod(signal);
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
