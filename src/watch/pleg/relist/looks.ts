import { type ObservedPod, type Runtime } from '../../observed/runtime.js';
import { type Clock } from '#base/time/clock.js';
import { messageOf, PodloopError } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { PriorityLock } from '#base/async/priority-lock.js';
import { SliceYielder } from '#base/async/slices.js';
import { callWithDeadline } from '../call-with-deadline.js';
import { type EventStream } from '../event-stream.js';
import { type Trigger } from '../events.js';
import { findFlaw, uidOf } from '../flawed-pod.js';
import { type Inspector } from '../inspection/inspector.js';
import { LookTiming } from './look-timing.js';
import { type PodCache } from '../pod-cache.js';
import { type PodRecord, type PodRecords } from '../pod-records.js';
import { type RelistRequests } from './relist-requests.js';
import { type WatchConditions } from '../watch-conditions.js';

/** What looks are made with, and whom they tell. */
export interface LooksOptions {
  readonly runtime: Runtime;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly cache: PodCache;
  readonly records: PodRecords;
  readonly conditions: WatchConditions;
  readonly inspector: Inspector;
  readonly requests: RelistRequests;
  readonly stream: EventStream;
  /** A list of all pods is given up after so many milliseconds. */
  readonly listDeadlineMs: number;
  /** The same of one pod. */
  readonly podListDeadlineMs: number;
  readonly yieldToLoop: (() => Promise<unknown>) | undefined;
  /** Called when a look at all pods has been compared. */
  readonly onLooked: () => void;
}

/** How a look at all pods came about. */
export interface Look {
  readonly signal: AbortSignal | undefined;
  /** Somebody called for it, rather than the period: failing pods are tried again without delay. */
  readonly byHand: boolean;
}

/**
 * Pods, containers and sandboxes compared with their records between two turns of the event loop; a few
 * milliseconds' worth, and no more than a subscriber's queue holds events of by default.
 */
export const ITEMS_PER_SLICE = 1_000;

/** Places in the lock's line. */
const ALL_FIRST = 0;
const ONE_POD_AFTER = 1;
/** As the last error, it also remembers that one empty list was refused already. */
const EMPTY_AFTER_FAILURE =
  'the list of pods is empty right after a failed one: waiting for another to confirm it';

/**
 * Looks at the runtime, at all pods or at one, and compares what it shows with the records.
 *
 * One look at a time, so that stamps and records only ever move forward; one at all pods goes before one at a single
 * pod. A look ends when everything in it has been compared: the inspections that it found due go on by themselves.
 */
export class Looks {
  readonly #options: LooksOptions;
  readonly #lock = new PriorityLock();
  #lastSeenMs: number | undefined;
  #listStartedMs: number | undefined;
  #lastListError: string | undefined;
  /** What is wrong with pods of the last list, by uid. */
  #toldFlaws: ReadonlyMap<string, string> = new Map();
  /** Pods of which the last list told nothing: what it had of them makes no sense, or has lost its name. */
  #untold: ReadonlySet<string> = new Set();
  #relists = 0;
  #podRelists = 0;

  constructor(options: LooksOptions) {
    this.#options = options;
  }

  /** When the last look at all pods that succeeded began, in monotonic milliseconds. */
  get lastSeenMs(): number | undefined {
    return this.#lastSeenMs;
  }

  /** When the list of all pods that is under way began, in monotonic milliseconds. */
  get listStartedMs(): number | undefined {
    return this.#listStartedMs;
  }

  /** Why the last list of all pods failed; undefined when it succeeded. */
  get lastListError(): string | undefined {
    return this.#lastListError;
  }

  /** Looks at all pods that succeeded. */
  get relists(): number {
    return this.#relists;
  }

  /** Looks at one pod that succeeded. */
  get podRelists(): number {
    return this.#podRelists;
  }

  /**
   * Lists all pods and compares. Rejects when the list fails, or with the signal's reason; nothing is deleted then.
   *
   * Returns the wait for what this found due; in an object, so that nobody awaits it unasked.
   */
  async atAll(look: Look): Promise<{ readonly inspections: Promise<void> }> {
    const { runtime, clock, cache, records, conditions, inspector, requests, stream, listDeadlineMs } =
      this.#options;
    const release = await this.#lock.acquire(ALL_FIRST, look.signal);
    const timing = new LookTiming(clock, 'all', this.#lastSeenMs);
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
      stream.looked(stamp);
      stream.forgetAbsent(stamp, (uid) => records.find(uid) !== undefined);
      inspector.probe();
      timing.compared();
      this.#options.onLooked();
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

  /** Looks at the pod whose request has waited longest. Rejects with the signal's reason only: a failure asks again. */
  async atNextPod(runSignal: AbortSignal): Promise<void> {
    const { runtime, clock, logger, cache, requests, podListDeadlineMs } = this.#options;
    const release = await this.#lock.acquire(ONE_POD_AFTER, runSignal);
    // Not before it is our turn: a look at all pods that went first has answered who was waiting then.
    const request = requests.takeNext();
    if (request === undefined) {
      release();
      return;
    }
    const { uid, trigger } = request;
    const timing = new LookTiming(clock, 'pod', this.#lastSeenMs);
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
      // Maybe this pod alone cannot be listed: nobody behind it waits for it, and a list of all answers it too.
      logger.info('GenericPLEG: Unable to retrieve pod', { podUID: uid, err: messageOf(error) }, 2);
      requests.add(uid, trigger);
      requests.addAll('relist');
    } finally {
      release();
    }
  }

  /**
   * A runtime that has just come back may answer before it has found its pods again. An empty list right after a
   * failed one is taken for a failure too; a second empty one is believed.
   */
  #refuseDoubtfulAbsence(pods: readonly ObservedPod[]): void {
    const doubtful = pods.length === 0 && this.#options.records.size > 0 && this.#lastListError !== undefined;
    if (!doubtful || this.#lastListError === EMPTY_AFTER_FAILURE) return;
    throw new PodloopError('PLEG_ABSENCE_DOUBTED', EMPTY_AFTER_FAILURE);
  }

  async #compareAll(
    pods: readonly ObservedPod[],
    timing: LookTiming,
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
        this.#tellOfDuplicate(record);
      } else if (record !== undefined && record.accepted === pod && this.#isAtRest(record)) {
        // What most pods are, in most looks: as they were.
        record.seenStamp = timing.stamp;
        record.generation = generation;
        shown++;
      } else if ((flaw = findFlaw(pod)) !== undefined) {
        // It hides nobody else, and what it was before is not taken for gone.
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
    this.#tellOfFlaws(flaws);
    const missing = shown < records.size ? records.missingFrom(generation) : [];
    // A pod without a name may be any of those that are missing.
    const untold = unnamed === 0 ? [] : missing.map((record) => record.pod.uid);
    this.#claimNothingOf(new Set([...flaws.keys(), ...untold]));
    if (unnamed === 0) {
      for (const record of missing) {
        void this.#take(record.pod.uid, undefined, timing, triggerOf(record.pod.uid), byHand);
        // Two events of each, told at once: a reader that keeps up is to get its turn before its queue is full.
        const { containers, sandboxes } = record.seen;
        if (slices.isFull(1 + 2 * (containers.length + sandboxes.length))) await slices.nextSlice();
      }
    }
    return due;
  }

  /** Nothing is due of the pod, and nobody waits for a look at it: one that shows the same need not be compared. */
  #isAtRest(record: PodRecord): boolean {
    const { uid } = record.pod;
    const { conditions, stream } = this.#options;
    return record.isAtRest && !conditions.has(uid) && !stream.expects(uid) && !this.#untold.has(uid);
  }

  /** What is known of these pods stays as old as it is, until a look shows them again or shows them to be gone. */
  #claimNothingOf(untold: ReadonlySet<string>): void {
    const { cache, records } = this.#options;
    for (const uid of untold) cache.markBehind(uid);
    for (const uid of this.#untold) {
      if (!untold.has(uid) && records.find(uid) === undefined) cache.markCurrent(uid);
    }
    this.#untold = untold;
  }

  /** Two pods of one uid cannot be told apart; the first is taken, so that the two do not seem to alternate. */
  #tellOfDuplicate(record: PodRecord): void {
    if (record.toldOfDuplicate) return;
    record.toldOfDuplicate = true;
    this.#options.logger.warn('GenericPLEG: The list shows a pod more than once, only the first is taken', {
      pod: record.pod,
      podUID: record.pod.uid,
    });
  }

  /** Once for as long as it stays: a look comes every second. */
  #tellOfFlaws(flaws: ReadonlyMap<string, string>): void {
    for (const [podUID, flaw] of flaws) {
      if (this.#toldFlaws.get(podUID) === flaw) continue;
      this.#options.logger.warn('GenericPLEG: The list shows a pod that makes no sense', { podUID, flaw });
    }
    this.#toldFlaws = flaws;
  }

  /** Takes in what a look showed of one pod. Returns what a relist is to wait for. */
  #take(
    uid: string,
    pod: ObservedPod | undefined,
    timing: LookTiming,
    trigger: Trigger,
    byHand: boolean,
  ): Promise<void> | undefined {
    const { stream } = this.#options;
    const known = this.#options.records.find(uid);
    stream.compare(uid, known?.looked, pod);
    if (pod === undefined) {
      stream.forgetTold(uid);
      if (known === undefined) this.#options.conditions.forget(uid);
      else this.#options.inspector.remove(known, timing.stamp, trigger);
      return undefined;
    }
    const record = known ?? this.#options.records.ensure(pod);
    this.#options.inspector.ends.see(record, pod, timing);
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
