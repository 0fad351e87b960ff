import { type ObservedPod, type Runtime } from '../../observed/runtime.js';
import { type Clock } from '#base/time/clock.js';
import { messageOf, PodloopError } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { RankLine } from '#base/async/slot-line.js';
import { Slots } from '#base/async/slots.js';
import { SliceYielder } from '#base/async/slices.js';
import { callWithDeadline } from '../call-with-deadline.js';
import { type EventStream } from '../event-stream.js';
import { type Trigger } from '../pod-lifecycle-event.js';
import { findFlaw, uidOf } from '../flawed-pod.js';
import { type Inspector } from '../inspection/inspector.js';
import { ListTiming } from './list-timing.js';
import { type PodCache } from '../pod-cache.js';
import { type PodRecord, type PodRecords } from '../pod-records.js';
import { type Publisher } from '#base/channels/publishing-channel.js';
import { type RelistRequests } from './relist-requests.js';
import { type WatchConditions } from '../watch-conditions.js';

/** The ports and callbacks of {@link PodLists}. */
export interface PodListsOptions extends Publisher {
  readonly runtime: Runtime;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly cache: PodCache;
  readonly records: PodRecords;
  readonly conditions: WatchConditions;
  readonly inspector: Inspector;
  readonly requests: RelistRequests;
  readonly stream: EventStream;
  /** A list of all pods times out after this many milliseconds. */
  readonly listDeadlineMs: number;
  /** A list of one pod times out after this many milliseconds. */
  readonly podListDeadlineMs: number;
  readonly yieldToLoop: (() => Promise<unknown>) | undefined;
  /** Called when a relist of all pods has been compared. */
  readonly onCompared: () => void;
}

/** The origin of a relist of all pods. */
export interface ListOrigin {
  readonly signal: AbortSignal | undefined;
  /** It was called for, rather than triggered by the period: failing pods are retried without delay. */
  readonly byHand: boolean;
}

/**
 * How many pods, containers and sandboxes are compared with their records between two turns of the event
 * loop.
 *
 * That takes a few milliseconds, and gives no more events than a subscriber's default queue has room for.
 */
export const ITEMS_PER_SLICE = 1_000;

/** Priorities of the lock. */
const ALL_FIRST = 0;
const ONE_POD_AFTER = 1;
/** As the last error, it also records that one empty list was rejected already. */
const EMPTY_AFTER_FAILURE =
  'the list of pods is empty right after a failed one: waiting for another to confirm it';

/**
 * Lists all pods or one from the runtime, and compares the answer with the records.
 *
 * One list runs at a time, so that stamps and records only ever advance; a list of all pods goes before one
 * of a single pod. A list ends when everything in it has been compared: the inspections that it made due
 * continue by themselves.
 */
export class PodLists {
  readonly #options: PodListsOptions;
  readonly #lock = new Slots({ limit: 1, line: new RankLine((rank: number) => rank) });
  #lastSeenMs: number | undefined;
  #listStartedMs: number | undefined;
  #lastListError: string | undefined;
  /** The flaws of pods in the last list, by uid. */
  #loggedFlaws: ReadonlyMap<string, string> = new Map();
  /** Pods on which the last list is silent: their entry made no sense, or an entry has no uid. */
  #unlisted: ReadonlySet<string> = new Set();
  #relists = 0;
  #podRelists = 0;

  constructor(options: PodListsOptions) {
    this.#options = options;
  }

  /** When the last successful relist of all pods began, in monotonic milliseconds. */
  get lastSeenMs(): number | undefined {
    return this.#lastSeenMs;
  }

  /** When the present list of all pods began, in monotonic milliseconds. */
  get listStartedMs(): number | undefined {
    return this.#listStartedMs;
  }

  /** Why the last list of all pods failed; undefined if it succeeded. */
  get lastListError(): string | undefined {
    return this.#lastListError;
  }

  /** Successful lists of all pods. */
  get relists(): number {
    return this.#relists;
  }

  /** Successful lists of one pod. */
  get podRelists(): number {
    return this.#podRelists;
  }

  /**
   * Lists all pods and compares. Rejects if the list fails, or with the signal's reason; nothing is deleted
   * then.
   *
   * Returns the promise of the inspections, wrapped in an object so that `await` does not wait for it.
   */
  async listAll(look: ListOrigin): Promise<{ readonly inspections: Promise<void> }> {
    const { runtime, cache, records, conditions, inspector, requests, stream, listDeadlineMs } =
      this.#options;
    const release = await this.#lock.take(ALL_FIRST, look.signal);
    const timing = new ListTiming(this.#options, 'all', this.#lastSeenMs);
    const { stamp } = timing;
    let trigger: Trigger = this.#lastSeenMs === undefined ? 'initial' : 'relist';
    let pods: readonly ObservedPod[] = [];
    const watched = [...conditions.uids()];
    try {
      this.#listStartedMs = timing.startedMs;
      pods = await this.#list(listDeadlineMs, look.signal, (signal) => runtime.listPods(signal));
      timing.listed();
      this.#refuseDoubtfulAbsence(pods);
      if (this.#lastListError !== undefined) inspector.forgetDelays();
      this.#lastListError = undefined;
      this.#listStartedMs = undefined;
      const requested = requests.takeAllAnswered(stamp);
      if (requested.all !== undefined && trigger === 'relist') trigger = requested.all;
      const due = await this.#compareAll(
        pods,
        timing,
        (uid) => (trigger === 'initial' ? trigger : (requested.byUid.get(uid) ?? trigger)),
        look.byHand,
      );
      for (const uid of watched) if (records.find(uid) === undefined) conditions.forget(uid);
      this.#lastSeenMs = timing.startedMs;
      this.#relists++;
      cache.advance(stamp);
      stream.relisted(stamp);
      stream.forgetAbsent(stamp, (uid) => records.find(uid) !== undefined);
      inspector.probe();
      timing.compared();
      this.#options.onCompared();
      const found = { trigger, pods: pods.length, due: due.length, error: undefined };
      return { inspections: Promise.all(due).then(() => timing.publish(found)) };
    } catch (error) {
      this.#listStartedMs = undefined;
      if (look.signal?.aborted !== true) this.#lastListError = messageOf(error);
      timing.publish({ trigger, pods: pods.length, due: 0, error: messageOf(error) });
      throw error;
    } finally {
      release();
    }
  }

  /**
   * Lists the pod whose request has waited longest. Rejects only with the signal's reason: a failure requests
   * it again.
   */
  async listNextPod(runSignal: AbortSignal): Promise<void> {
    const { runtime, logger, cache, requests, podListDeadlineMs } = this.#options;
    const release = await this.#lock.take(ONE_POD_AFTER, runSignal);
    // Only once it has the lock: a list of all pods that went first has answered the requests waiting then.
    const request = requests.takeNext();
    if (request === undefined) {
      release();
      return;
    }
    const { uid, trigger } = request;
    const timing = new ListTiming(this.#options, 'pod', this.#lastSeenMs);
    const { stamp } = timing;
    try {
      const pod = await this.#list(podListDeadlineMs, runSignal, (signal) => runtime.findPod(uid, signal));
      timing.listed();
      if (pod === undefined && this.#lastListError !== undefined) {
        throw new PodloopError(
          'PLEG_ABSENCE_DOUBTED',
          `pod ${uid} is missing after a failed list: waiting for a list of all to confirm it`,
        );
      }
      const flaw = pod === undefined ? undefined : findFlaw(pod);
      if (flaw !== undefined)
        throw new PodloopError('CRI_MALFORMED_RESPONSE', `pod ${uid} makes no sense: ${flaw}`);
      this.#podRelists++;
      requests.takeAnswered(uid, stamp);
      const inspection = this.#take(uid, pod, timing, trigger, false);
      if (inspection === undefined) cache.observe(uid, stamp);
      timing.compared();
      const [pods, due] = [pod === undefined ? 0 : 1, inspection === undefined ? 0 : 1];
      timing.publish({ trigger, pods, due, error: undefined });
    } catch (error) {
      timing.publish({ trigger, pods: 0, due: 0, error: messageOf(error) });
      if (runSignal.aborted) throw error;
      // Perhaps only this pod cannot be listed: a list of all pods answers it too, and nobody behind it has
      // to wait.
      logger.info('GenericPLEG: Unable to retrieve pod', { podUID: uid, err: messageOf(error) }, 2);
      requests.add(uid, trigger);
      requests.addAll('relist');
    } finally {
      release();
    }
  }

  /**
   * Rejects an empty list right after a failed one; a second empty one is believed.
   *
   * A runtime that has just come back may answer before it has found its pods again.
   */
  #refuseDoubtfulAbsence(pods: readonly ObservedPod[]): void {
    const doubtful = pods.length === 0 && this.#options.records.size > 0 && this.#lastListError !== undefined;
    if (!doubtful || this.#lastListError === EMPTY_AFTER_FAILURE) return;
    throw new PodloopError('PLEG_ABSENCE_DOUBTED', EMPTY_AFTER_FAILURE);
  }

  async #compareAll(
    pods: readonly ObservedPod[],
    timing: ListTiming,
    triggerOf: (uid: string) => Trigger,
    byHand: boolean,
  ): Promise<Promise<void>[]> {
    const due: Promise<void>[] = [];
    const generation = this.#options.records.nextGeneration();
    const slices = new SliceYielder({
      itemsPerSlice: ITEMS_PER_SLICE,
      yieldToLoop: this.#options.yieldToLoop,
    });
    const { records } = this.#options;
    const flaws = new Map<string, string>();
    let shown = 0;
    let unnamed = 0;
    for (const pod of pods) {
      const record = records.find(uidOf(pod));
      let items = 1;
      let flaw: string | undefined;
      if (record?.generation === generation) {
        this.#logDuplicate(record);
      } else if (record !== undefined && record.accepted === pod && this.#isAtRest(record)) {
        // The usual case: the pod has not changed.
        record.seenStamp = timing.stamp;
        record.generation = generation;
        shown++;
      } else if ((flaw = findFlaw(pod)) !== undefined) {
        // It does not hide other pods, and its last valid state does not count as gone.
        flaws.set(uidOf(pod), flaw);
        if (record === undefined) unnamed++;
        else {
          record.generation = generation;
          shown++;
        }
      } else {
        const inspection = this.#take(pod.uid, pod, timing, triggerOf(pod.uid), byHand);
        records.ensure(pod).generation = generation;
        if (inspection !== undefined) due.push(inspection);
        items += pod.containers.length + pod.sandboxes.length;
        shown++;
      }
      if (slices.isFull(items)) await slices.nextSlice();
    }
    this.#logFlaws(flaws);
    const missing = shown < records.size ? records.missingFrom(generation) : [];
    // A pod without a uid may be any of the missing ones.
    const untold = unnamed === 0 ? [] : missing.map((record) => record.pod.uid);
    this.#claimNothingOf(new Set([...flaws.keys(), ...untold]));
    if (unnamed === 0) {
      for (const record of missing) {
        void this.#take(record.pod.uid, undefined, timing, triggerOf(record.pod.uid), byHand);
        // Two events per member are published in one go: a reader must get its turn before its queue is full.
        const { containers, sandboxes } = record.seen;
        if (slices.isFull(1 + 2 * (containers.length + sandboxes.length))) await slices.nextSlice();
      }
    }
    return due;
  }

  /** Whether an unchanged entry of the pod can be skipped: nothing is due, and nobody waits for its list. */
  #isAtRest(record: PodRecord): boolean {
    const { uid } = record.pod;
    const { conditions, stream } = this.#options;
    return record.isAtRest && !conditions.has(uid) && !stream.expects(uid) && !this.#unlisted.has(uid);
  }

  /** Stops advancing the stamps of these pods until a list shows them again or shows them to be gone. */
  #claimNothingOf(untold: ReadonlySet<string>): void {
    const { cache, records } = this.#options;
    for (const uid of untold) cache.markBehind(uid);
    for (const uid of this.#unlisted) {
      if (!untold.has(uid) && records.find(uid) === undefined) cache.markCurrent(uid);
    }
    this.#unlisted = untold;
  }

  /**
   * Logs a uid that is listed twice. Only the first pod is used, so that the two do not seem to alternate.
   */
  #logDuplicate(record: PodRecord): void {
    if (record.hasLoggedDuplicate) return;
    record.hasLoggedDuplicate = true;
    this.#options.logger.warn('GenericPLEG: The list shows a pod more than once, only the first is taken', {
      pod: record.pod,
      podUID: record.pod.uid,
    });
  }

  /** Logs a flaw once for as long as it stays, as a list comes every second. */
  #logFlaws(flaws: ReadonlyMap<string, string>): void {
    for (const [podUID, flaw] of flaws) {
      if (this.#loggedFlaws.get(podUID) === flaw) continue;
      this.#options.logger.warn('GenericPLEG: The list shows a pod that makes no sense', { podUID, flaw });
    }
    this.#loggedFlaws = flaws;
  }

  /** Applies a list entry of one pod. Returns what a relist has to wait for. */
  #take(
    uid: string,
    pod: ObservedPod | undefined,
    timing: ListTiming,
    trigger: Trigger,
    byHand: boolean,
  ): Promise<void> | undefined {
    const { stream } = this.#options;
    const known = this.#options.records.find(uid);
    stream.compare(uid, known?.listed, pod);
    if (pod === undefined) {
      stream.forgetEventStatuses(uid);
      if (known === undefined) this.#options.conditions.forget(uid);
      else this.#options.inspector.remove(known, timing.stamp, trigger);
      return undefined;
    }
    const record = known ?? this.#options.records.ensure(pod);
    this.#options.inspector.earlyExits.see(record, pod, timing);
    return this.#options.inspector.consider(record, trigger, { ignoreDelay: byHand });
  }

  async #list<T>(
    deadlineMs: number,
    signal: AbortSignal | undefined,
    call: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const message = `the runtime did not list pods within ${deadlineMs} ms`;
    return await callWithDeadline({ clock: this.#options.clock, deadlineMs, message, signal }, call);
  }
}
