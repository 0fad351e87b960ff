import { type ObservedPod, type PodStatus, type ToldStatuses } from '../../observed/runtime.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import {
  computeNews,
  type InspectionAttempt,
  type InspectionNews,
} from '../inspection/inspection-attempt.js';
import { type LookTiming } from '../relist/look-timing.js';
import { withMemoryKills } from './memory-kills.js';
import { type PodCache } from '../pod-cache.js';
import { type PodRecord, type PodRecords } from '../pod-records.js';
import { findToldEnds, holdEnds, podWithEnds } from './told-ends.js';
import { statusAsTold } from './told-status.js';
import { type ToldTrust } from './told-trust.js';
import { type WatchConditions } from '../watch-conditions.js';

/** The state and the callbacks of {@link EndsAtOnce}. All callbacks are synchronous. */
export interface EndsAtOnceOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly cache: PodCache;
  readonly records: PodRecords;
  readonly conditions: WatchConditions;
  readonly trust: ToldTrust;
  readonly forgetTold: (podUid: string) => void;
  readonly isDue: (record: PodRecord) => boolean;
  /** Writes the cache, delivers the events and advances the record, in one step. */
  readonly write: (record: PodRecord, attempt: InspectionAttempt, news: InspectionNews) => void;
  /** Compares the runtime's answer with the pod status of an event. */
  readonly check: (seen: ObservedPod, status: PodStatus) => void;
}

/**
 * Publishes exits straight from the runtime's events, before the list that each event triggers.
 *
 * Only for a pod with nothing due, so that its record is stable. The exit is added to the newest list entry,
 * to the accepted one and to the cache, as if that list had shown it. It is also added to later lists until
 * they show it themselves.
 */
export class EndsAtOnce {
  readonly #options: EndsAtOnceOptions;
  #told = 0;

  constructor(options: EndsAtOnceOptions) {
    this.#options = options;
  }

  /** How many exits were published early. */
  get told(): number {
    return this.#told;
  }

  /**
   * Handles an event that a container of the pod has exited; whatever cannot be published early is left to
   * the list.
   */
  tell(uid: string, containerId: string, readTold: () => ToldStatuses): void {
    const { records, cache, clock, trust, forgetTold, write, check } = this.#options;
    const record = records.find(uid);
    if (record === undefined || !this.#isSettled(record)) return;
    const { seen } = record;
    const { status: known, stamp } = cache.get(uid);
    const told = readTold();
    const ends = findToldEnds({ accepted: seen, known, told, containerId, nowMs: clock.monotonicMs() });
    if (ends === undefined || !trust.useAtOnce()) return;
    forgetTold(uid);
    this.#told += ends.size;
    record.ends = new Map([...record.ends, ...ends]);
    record.seen = podWithEnds(seen, ends);
    const attempt: InspectionAttempt = {
      snapshot: record.seen,
      // The age of the event is unknown, so the stamp must not advance.
      stamp,
      ends,
      trigger: 'event',
      reinspection: false,
      conditions: [],
    };
    // For containers that ended earlier, the event may know by now that memory was the cause.
    const status = withMemoryKills(known, told.containers);
    write(record, attempt, computeNews(record, attempt, status, known, clock.now()));
    if (!trust.wantsCheck) return;
    const asTold = statusAsTold({ seen: record.seen, accepted: seen, known, told });
    if (asTold !== undefined) check(record.seen, asTold);
  }

  /** Applies a list entry of the pod, and checks the exits published before against it. */
  see(record: PodRecord, pod: ObservedPod, look: Pick<LookTiming, 'stamp' | 'startedMs'>): void {
    const { left, refuted } = holdEnds(record.ends, pod, look.startedMs);
    for (const { container } of refuted) {
      this.#options.trust.refute();
      this.#options.logger.warn('EventedPLEG: An event told of the end of a container that has not ended', {
        ...{ pod: record.pod, podUID: record.pod.uid, containerID: container.id },
      });
    }
    record.ends = left;
    record.looked = pod;
    record.see(podWithEnds(pod, left), look.stamp);
  }

  /** Whether everything that lists have shown of the pod is published and nothing more was requested. */
  #isSettled(record: PodRecord): boolean {
    const { cache, conditions, isDue } = this.#options;
    const { uid } = record.pod;
    return record.isAtRest && !isDue(record) && !conditions.has(uid) && cache.get(uid).error === undefined;
  }
}
