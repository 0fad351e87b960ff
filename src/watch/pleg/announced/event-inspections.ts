import { type ObservedPod, type PodStatus, type EventStatuses } from '../../observed/runtime.js';
import { type Stamp } from '#base/time/clock.js';
import { type PodRecord } from '../pod-records.js';
import { composeEventStatus } from './event-status.js';
import { type EventAccuracy } from './event-accuracy.js';

/** Options of {@link EventInspections}. */
export interface EventInspectionsOptions {
  readonly trust: EventAccuracy;
  /**
   * The pod status of an event that came before the list with this stamp; undefined if there is none, or if
   * it has been used.
   */
  readonly findEventStatuses: (podUid: string, stamp: Stamp) => EventStatuses | undefined;
  readonly forgetEventStatuses: (podUid: string) => void;
}

/** Decides whether the pod status in an event can replace an inspection. */
export class EventInspections {
  readonly #options: EventInspectionsOptions;
  readonly #trust: EventAccuracy;

  constructor(options: EventInspectionsOptions) {
    this.#options = options;
    this.#trust = options.trust;
  }

  /**
   * Returns an event's status of the pod as last seen, if it may be used; otherwise stores it to compare it
   * with the runtime's answer.
   */
  find(record: PodRecord, known: PodStatus): PodStatus | undefined {
    if (record.inspection !== undefined) return undefined;
    const { pod, seen, seenStamp, accepted } = record;
    const told = this.#options.findEventStatuses(pod.uid, seenStamp);
    if (told === undefined) return undefined;
    const status = composeEventStatus({ seen, accepted, known, told });
    if (status === undefined) return undefined;
    this.#options.forgetEventStatuses(pod.uid);
    if (this.#trust.use()) return status;
    record.eventStatus = { seen, status };
    return undefined;
  }

  /** Compares the stored status with the runtime's answer about the pod as it was listed. */
  compare(record: PodRecord, snapshot: ObservedPod, answered: PodStatus): void {
    const { eventStatus: told } = record;
    record.eventStatus = undefined;
    if (told?.seen === snapshot) this.#trust.compare(snapshot, told.status, answered);
  }
}
