import { type ObservedPod, type PodStatus, type EventStatuses } from '../../observed/runtime.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import {
  computeNews,
  type InspectionAttempt,
  type InspectionNews,
} from '../inspection/inspection-attempt.js';
import { type ListTiming } from '../relist/list-timing.js';
import { withMemoryKills } from './memory-kills.js';
import { type PodCache } from '../pod-cache.js';
import { type PodRecord, type PodRecords } from '../pod-records.js';
import { findAnnouncedExits, compareExits, podWithExits } from './announced-exits.js';
import { composeEventStatus } from './event-status.js';
import { type EventAccuracy } from './event-accuracy.js';
import { type WatchConditions } from '../watch-conditions.js';

/** The state and the callbacks of {@link EarlyExits}. All callbacks are synchronous. */
export interface EarlyExitsOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly cache: PodCache;
  readonly records: PodRecords;
  readonly conditions: WatchConditions;
  readonly trust: EventAccuracy;
  readonly forgetEventStatuses: (podUid: string) => void;
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
export class EarlyExits {
  readonly #options: EarlyExitsOptions;
  #announced = 0;

  constructor(options: EarlyExitsOptions) {
    this.#options = options;
  }

  /** How many exits were published early. */
  get announced(): number {
    return this.#announced;
  }

  /**
   * Handles an event that a container of the pod has exited; whatever cannot be published early is left to
   * the list.
   */
  announce(uid: string, containerId: string, readTold: () => EventStatuses): void {
    const { records, cache, clock, trust, forgetEventStatuses, write, check } = this.#options;
    const record = records.find(uid);
    if (record === undefined || !this.#isSettled(record)) return;
    const { seen } = record;
    const { status: known, stamp } = cache.get(uid);
    const told = readTold();
    const ends = findAnnouncedExits({ accepted: seen, known, told, containerId, nowMs: clock.monotonicMs() });
    if (ends === undefined || !trust.useEarly()) return;
    forgetEventStatuses(uid);
    this.#announced += ends.size;
    record.announcedExits = new Map([...record.announcedExits, ...ends]);
    record.seen = podWithExits(seen, ends);
    const attempt: InspectionAttempt = {
      snapshot: record.seen,
      // The age of the event is unknown, so the stamp must not advance.
      stamp,
      announcedExits: ends,
      trigger: 'event',
      reinspection: false,
      conditions: [],
    };
    // For containers that ended earlier, the event may know by now that memory was the cause.
    const status = withMemoryKills(known, told.containers);
    write(record, attempt, computeNews(record, attempt, status, known, clock.now()));
    if (!trust.wantsCheck) return;
    const asTold = composeEventStatus({ seen: record.seen, accepted: seen, known, told });
    if (asTold !== undefined) check(record.seen, asTold);
  }

  /** Applies a list entry of the pod, and checks the exits published before against it. */
  see(record: PodRecord, pod: ObservedPod, look: Pick<ListTiming, 'stamp' | 'startedMs'>): void {
    const { left, refuted } = compareExits(record.announcedExits, pod, look.startedMs);
    for (const { container } of refuted) {
      this.#options.trust.refute();
      this.#options.logger.warn('EventedPLEG: An event reported the end of a container that still runs', {
        ...{ pod: record.pod, podUID: record.pod.uid, containerID: container.id },
      });
    }
    record.announcedExits = left;
    record.listed = pod;
    record.see(podWithExits(pod, left), look.stamp);
  }

  /** Whether everything that lists have shown of the pod is published and nothing more was requested. */
  #isSettled(record: PodRecord): boolean {
    const { cache, conditions, isDue } = this.#options;
    const { uid } = record.pod;
    return record.isAtRest && !isDue(record) && !conditions.has(uid) && cache.get(uid).error === undefined;
  }
}
