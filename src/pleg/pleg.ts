/**
 * The Pod Lifecycle Event Generator: finds out what happened to every container, and tells everybody.
 *
 * In: looks at the runtime (lists of all pods, or of one), each set off by the period, by a request for one pod, or
 * by an event of the runtime, which is only ever a hint. Out: events to any number of subscribers, the status of
 * every pod in the cache, and health.
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
import { abortable } from '../util/abortable.js';
import { type Clock, type Stamp } from '../util/clock.js';
import { messageOf } from '../util/errors.js';
import { type Logger } from '../util/logger.js';
import { relistEnded } from '../util/pleg-channels.js';
import { PriorityLock } from '../util/priority-lock.js';
import { SliceYielder } from '../util/slices.js';
import { Wakeup } from '../util/wakeup.js';
import { formatPod } from '../model/pod-ref.js';
import { type ObservedPod, type Runtime } from '../runtime/runtime.js';
import { type PodLifecycleEvent, type Trigger } from './events.js';
import { EventStream } from './event-stream.js';
import { Inspector } from './inspector.js';
import { callWithDeadline } from './call-with-deadline.js';
import { type PodCache } from './pod-cache.js';
import { type PodRecord, PodRecords } from './pod-records.js';
import { type PlegOptions, type ResolvedPlegOptions, resolvePlegOptions } from './pleg-options.js';
import { computeHealth, type PlegHealth } from './pleg-health.js';
import { computePlegState, type PlegState } from './pleg-state.js';
import { computeCadence, longestThreshold } from './relist-cadence.js';
import { RelistRequests } from './relist-requests.js';
import { Subscription } from './subscription.js';
import { type PodCondition, WatchConditions } from './watch-conditions.js';

/**
 * Pods, containers and sandboxes compared with their records between two turns of the event loop; a few
 * milliseconds' worth, and no more than a subscriber's queue holds events of by default.
 */
export const ITEMS_PER_SLICE = 1_000;

const ALL_FIRST = 0;
const ONE_POD_AFTER = 1;
const REQUEST_CAPACITY = 1_000;
const EMPTY_AFTER_FAILURE =
  'the list of pods is empty right after a failed one: waiting for another to confirm it';

/** How a look at all pods came about. */
interface Look {
  readonly signal: AbortSignal | undefined;
  /** Somebody called for it, rather than the period: failing pods are tried again without delay. */
  readonly byHand: boolean;
}

/** The generator: see the comment of this module. */
export class Pleg {
  /** The status of every pod; to be read, and waited on, by anybody. */
  readonly cache: PodCache;
  readonly #options: ResolvedPlegOptions;
  readonly #runtime: Runtime;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #records = new PodRecords();
  readonly #conditions = new WatchConditions();
  readonly #inspector: Inspector;
  readonly #requests: RelistRequests;
  readonly #stream: EventStream;
  readonly #subscriptions = new Set<Subscription>();
  /** One look at a time, so that stamps and records only ever move forward. */
  readonly #lookLock = new PriorityLock();
  readonly #periodWakeup = new Wakeup();
  readonly #requestWakeup = new Wakeup();
  #running = false;
  /** Monotonic milliseconds. */
  #lastSeenMs: number | undefined;
  #listStartedMs: number | undefined;
  #lastListError: string | undefined;
  #cadence: ReturnType<typeof computeCadence>;
  #thresholdSinceMs: number;
  #relists = 0;
  #podRelists = 0;

  constructor(options: PlegOptions) {
    this.#options = resolvePlegOptions(options);
    const { runtime, clock, logger, cache } = this.#options;
    this.#runtime = runtime;
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
      onChange: () => this.#reconsiderCadence(),
      onUp: () => this.#requests.addAll('relist'),
    });
    this.#cadence = this.#computeCadence();
    this.#thresholdSinceMs = clock.monotonicMs();
    cache.onWait((uid) => this.#requests.add(uid, 'request'));
  }

  /**
   * Looks at all pods now. Resolves once every pod that was due has been inspected or has turned out to be slow;
   * never waits for a slow one. Rejects when the list fails, or with the signal's reason; nothing is deleted then.
   */
  async relist(signal?: AbortSignal): Promise<void> {
    const { inspections } = await this.#lookAtAll({ signal, byHand: true });
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

  /** A new reader of events made from now on. Close it, or leave its `for await`, when done. */
  subscribe(options?: { capacity?: number }): Subscription {
    const subscription = new Subscription({
      clock: this.#clock,
      capacity: options?.capacity ?? this.#options.queueCapacity,
      onClose: (closed) => this.#subscriptions.delete(closed),
    });
    this.#subscriptions.add(subscription);
    return subscription;
  }

  /**
   * Lives until the signal aborts: relists by the period, answers requests, listens to events. Then resolves; calls
   * under way are cancelled. Subscriptions stay open.
   */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#running) throw new Error('this generator is running already');
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
    const { pods, count } = this.#inspector.stuckPods(100);
    return computeHealth({
      nowMs: this.#clock.now(),
      thresholdMs: this.#cadence.thresholdMs,
      longestThresholdMs: longestThreshold(this.#options.cadence),
      lastSeenAgoMs: this.#lastSeenMs === undefined ? undefined : now - this.#lastSeenMs,
      thresholdAgeMs: now - this.#thresholdSinceMs,
      listInFlightMs: this.#listStartedMs === undefined ? undefined : now - this.#listStartedMs,
      lastListError: this.#lastListError,
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
      periodMs: this.#cadence.periodMs,
      relists: this.#relists,
      podRelists: this.#podRelists,
      records: this.#records,
      inspector: this.#inspector,
      requests: this.#requests,
      stream: this.#stream,
      subscriptions: this.#subscriptions,
    });
  }

  async #lookByPeriod(signal: AbortSignal): Promise<void> {
    for (;;) {
      try {
        const { inspections } = await this.#lookAtAll({ signal, byHand: false });
        await this.#giveTime(inspections, signal);
      } catch (error) {
        if (signal.aborted) return;
        this.#logger.error('GenericPLEG: Unable to retrieve pods', error);
      }
      await this.#untilPeriodIsOver(signal);
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

  /** The period is a gap, from the end of one relist to the begin of the next, and may change while it runs. */
  async #untilPeriodIsOver(signal: AbortSignal): Promise<void> {
    const endedMs = this.#clock.monotonicMs();
    for (;;) {
      this.#reconsiderCadence();
      const periodMs =
        this.#lastListError === undefined ? this.#cadence.periodMs : this.#options.cadence.relistPeriodMs;
      const leftMs = endedMs + periodMs - this.#clock.monotonicMs();
      if (leftMs <= 0 || signal.aborted) return;
      try {
        await this.#periodWakeup.wait(this.#clock, leftMs, signal);
      } catch {
        return;
      }
    }
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
      await this.#lookAtAll({ signal, byHand: false });
      return;
    }
    await this.#lookAtNextPod(signal);
  }

  /** Lists and compares. Returns the wait for what this found due; an object, so that nobody awaits it unasked. */
  async #lookAtAll(look: Look): Promise<{ readonly inspections: Promise<void> }> {
    const release = await this.#lookLock.acquire(ALL_FIRST, look.signal);
    const startedMs = this.#clock.monotonicMs();
    const startedAtMs = this.#clock.now();
    const stamp = this.#clock.stamp();
    let trigger: Trigger = this.#lastSeenMs === undefined ? 'initial' : 'relist';
    let listedMs = startedMs;
    let pods: readonly ObservedPod[] = [];
    const watched = [...this.#conditions.uids()];
    const report = (error: string | undefined, due: number, comparedMs: number): void =>
      relistEnded.publish({
        scope: 'all',
        trigger,
        startedAtMs,
        durationMs: this.#clock.monotonicMs() - startedMs,
        listMs: listedMs - startedMs,
        diffMs: comparedMs - listedMs,
        pods: pods.length,
        due,
        error,
      });
    try {
      this.#listStartedMs = startedMs;
      pods = await this.#call(this.#options.listDeadlineMs, look.signal, (signal) =>
        this.#runtime.listPods(signal),
      );
      listedMs = this.#clock.monotonicMs();
      this.#refuseDoubtfulAbsence(pods);
      if (this.#lastListError !== undefined) this.#inspector.forgetDelays();
      this.#lastListError = undefined;
      this.#listStartedMs = undefined;
      const requested = this.#requests.takeAllAnswered(stamp);
      if (requested.all !== undefined && trigger === 'relist') trigger = requested.all;
      const due = await this.#compareAll(
        pods,
        stamp,
        (uid) => (trigger === 'initial' ? trigger : (requested.byUid.get(uid) ?? trigger)),
        look.byHand,
      );
      for (const uid of watched) if (this.#records.find(uid) === undefined) this.#conditions.forget(uid);
      this.#lastSeenMs = startedMs;
      this.#relists++;
      this.cache.advance(stamp);
      this.#stream.looked(stamp);
      this.#inspector.probe();
      this.#reconsiderCadence();
      const comparedMs = this.#clock.monotonicMs();
      return { inspections: Promise.all(due).then(() => report(undefined, due.length, comparedMs)) };
    } catch (error) {
      this.#listStartedMs = undefined;
      if (look.signal?.aborted !== true) this.#lastListError = messageOf(error);
      report(messageOf(error), 0, listedMs);
      throw error;
    } finally {
      release();
    }
  }

  /**
   * A runtime that has just come back may answer before it has found its pods again. An empty list right after a
   * failed one is taken for a failure too; a second empty one is believed.
   */
  #refuseDoubtfulAbsence(pods: readonly ObservedPod[]): void {
    const doubtful = pods.length === 0 && this.#records.size > 0 && this.#lastListError !== undefined;
    if (!doubtful || this.#lastListError === EMPTY_AFTER_FAILURE) return;
    throw new Error(EMPTY_AFTER_FAILURE);
  }

  async #compareAll(
    pods: readonly ObservedPod[],
    stamp: Stamp,
    triggerOf: (uid: string) => Trigger,
    byHand: boolean,
  ): Promise<Promise<void>[]> {
    const due: Promise<void>[] = [];
    const generation = this.#records.nextGeneration();
    const slices = new SliceYielder({
      itemsPerSlice: ITEMS_PER_SLICE,
      yieldToLoop: this.#options.yieldToLoop,
    });
    let shown = 0;
    for (const pod of pods) {
      const record = this.#records.find(pod.uid);
      let items = 1;
      if (record?.generation === generation) {
        this.#tellOfDuplicate(record);
      } else if (record?.accepted === pod && record.isAtRest && !this.#isExpected(pod.uid)) {
        // What most pods are, in most looks: as they were.
        record.seenStamp = stamp;
        record.generation = generation;
        shown++;
      } else {
        const inspection = this.#take(pod.uid, pod, stamp, triggerOf(pod.uid), byHand);
        this.#records.ensure(pod).generation = generation;
        if (inspection !== undefined) due.push(inspection);
        items += pod.containers.length + pod.sandboxes.length;
        shown++;
      }
      if (slices.isFull(items)) await slices.nextSlice();
    }
    if (shown < this.#records.size) {
      for (const record of this.#records.missingFrom(generation)) {
        void this.#take(record.pod.uid, undefined, stamp, triggerOf(record.pod.uid), byHand);
        // Two events of each, told at once: a reader that keeps up is to get its turn before its queue is full.
        const { containers, sandboxes } = record.seen;
        if (slices.isFull(1 + 2 * (containers.length + sandboxes.length))) await slices.nextSlice();
      }
    }
    return due;
  }

  /** A pod whose look is to be compared even if it shows what the last one did. */
  #isExpected(uid: string): boolean {
    return this.#conditions.has(uid) || this.#stream.expects(uid);
  }

  /** Two pods of one uid cannot be told apart; the first is taken, so that the two do not seem to alternate. */
  #tellOfDuplicate(record: PodRecord): void {
    if (record.toldOfDuplicate) return;
    record.toldOfDuplicate = true;
    this.#logger.warn('GenericPLEG: The list shows a pod more than once, only the first is taken', {
      pod: formatPod(record.pod),
      podUID: record.pod.uid,
    });
  }

  async #lookAtNextPod(runSignal: AbortSignal): Promise<void> {
    const release = await this.#lookLock.acquire(ONE_POD_AFTER, runSignal);
    // Not before it is our turn: a look at all pods that went first has answered who was waiting then.
    const request = this.#requests.takeNext();
    if (request === undefined) {
      release();
      return;
    }
    const { uid, trigger } = request;
    const startedMs = this.#clock.monotonicMs();
    const startedAtMs = this.#clock.now();
    const stamp = this.#clock.stamp();
    try {
      // Not the long deadline of a list: one pod that cannot be listed must not keep the lock from the others.
      const pod = await this.#call(this.#options.inspectBudgetMs, runSignal, (signal) =>
        this.#runtime.findPod(uid, signal),
      );
      const listedMs = this.#clock.monotonicMs();
      if (pod === undefined && this.#lastListError !== undefined) {
        throw new Error(`pod ${uid} is missing after a failed list: waiting for a list of all to confirm it`);
      }
      this.#podRelists++;
      this.#requests.takeAnswered(uid, stamp);
      const inspection = this.#take(uid, pod, stamp, trigger, false);
      if (inspection === undefined) this.cache.observe(uid, stamp);
      relistEnded.publish({
        scope: 'pod',
        trigger,
        startedAtMs,
        durationMs: this.#clock.monotonicMs() - startedMs,
        listMs: listedMs - startedMs,
        diffMs: this.#clock.monotonicMs() - listedMs,
        pods: pod === undefined ? 0 : 1,
        due: inspection === undefined ? 0 : 1,
        error: undefined,
      });
    } catch (error) {
      if (runSignal.aborted) throw error;
      // Maybe this pod alone cannot be listed: nobody behind it waits for it, and a list of all answers it too.
      this.#logger.info('GenericPLEG: Unable to retrieve pod', { podUID: uid, err: messageOf(error) }, 2);
      this.#requests.add(uid, trigger);
      this.#requests.addAll('relist');
    } finally {
      release();
    }
  }

  /** Takes in what a look showed of one pod. Returns what a relist is to wait for. */
  #take(
    uid: string,
    pod: ObservedPod | undefined,
    stamp: Stamp,
    trigger: Trigger,
    byHand: boolean,
  ): Promise<void> | undefined {
    const known = this.#records.find(uid);
    this.#stream.compare(uid, known?.seen, pod);
    if (pod === undefined) {
      if (known === undefined) this.#conditions.forget(uid);
      else this.#inspector.remove(known, stamp, trigger);
      return undefined;
    }
    const record = known ?? this.#records.ensure(pod);
    record.see(pod, stamp);
    return this.#inspector.consider(record, trigger, { ignoreDelay: byHand });
  }

  async #call<T>(
    deadlineMs: number,
    signal: AbortSignal | undefined,
    call: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const message = `the runtime did not list pods within ${deadlineMs} ms`;
    return await callWithDeadline({ clock: this.#clock, deadlineMs, message, signal }, call);
  }

  #deliver(events: readonly PodLifecycleEvent[]): void {
    for (const event of events) {
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

  #computeCadence(): ReturnType<typeof computeCadence> {
    const { state } = this.#stream.info;
    return computeCadence(this.#options.cadence, {
      stream: state,
      announcedInARow: this.#stream.announcedInARow,
    });
  }

  #reconsiderCadence(): void {
    const { periodMs, thresholdMs } = this.#computeCadence();
    if (periodMs === this.#cadence.periodMs && thresholdMs === this.#cadence.thresholdMs) return;
    if (thresholdMs < this.#cadence.thresholdMs) this.#thresholdSinceMs = this.#clock.monotonicMs();
    this.#cadence = { periodMs, thresholdMs };
    this.#logger.info('GenericPLEG: Relist period changed', { period: `${periodMs}ms` }, 2);
    this.#periodWakeup.wake();
  }
}
