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

/** What {@link EndsAtOnce} works on and reports to; all of it synchronous. */
export interface EndsAtOnceOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly cache: PodCache;
  readonly records: PodRecords;
  readonly conditions: WatchConditions;
  readonly trust: ToldTrust;
  readonly forgetTold: (podUid: string) => void;
  readonly isDue: (record: PodRecord) => boolean;
  /** Writes the cache, hands out the events and advances the record, in one go. */
  readonly write: (record: PodRecord, attempt: InspectionAttempt, news: InspectionNews) => void;
  /** Holds against the runtime's answer what was told of a pod. */
  readonly check: (seen: ObservedPod, status: PodStatus) => void;
}

/**
 * Tells of ends straight from the events of the runtime, before the look that each event sets off.
 *
 * Only of a pod of which nothing is due, so that the record stands still: the end goes into the newest look, the accepted one
 * and the cache alike, as if that look had shown it. Later looks are taken in with it until they show it themselves.
 */
export class EndsAtOnce {
  readonly #options: EndsAtOnceOptions;
  #told = 0;

  constructor(options: EndsAtOnceOptions) {
    this.#options = options;
  }

  /** Ends that were told so. */
  get told(): number {
    return this.#told;
  }

  /** An event says that a container of the pod has ended. Whatever cannot be told at once is left to the look. */
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
      // Nobody knows how old the event is: nothing gets newer by it than it was known to be.
      stamp,
      ends,
      trigger: 'event',
      reinspection: false,
      conditions: [],
    };
    // Of containers that had ended before, the event may know better by now for want of what.
    const status = withMemoryKills(known, told.containers);
    write(record, attempt, computeNews(record, attempt, status, known, clock.now()));
    if (!trust.wantsCheck) return;
    const asTold = statusAsTold({ seen: record.seen, accepted: seen, known, told });
    if (asTold !== undefined) check(record.seen, asTold);
  }

  /** Takes in what a look showed of the pod, and holds against it what was told before. */
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

  /** Everybody knows all that looks have shown of the pod, and nobody has asked for more. */
  #isSettled(record: PodRecord): boolean {
    const { cache, conditions, isDue } = this.#options;
    const { uid } = record.pod;
    return record.isAtRest && !isDue(record) && !conditions.has(uid) && cache.get(uid).error === undefined;
  }
}
