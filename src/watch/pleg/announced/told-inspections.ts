import { type ObservedPod, type PodStatus, type ToldStatuses } from '../../observed/runtime.js';
import { type Stamp } from '#base/time/clock.js';
import { type PodRecord } from '../pod-records.js';
import { statusAsTold } from './told-status.js';
import { type ToldTrust } from './told-trust.js';

/** Options of {@link ToldInspections}. */
export interface ToldInspectionsOptions {
  readonly trust: ToldTrust;
  /**
   * The pod status of an event that came before the list with this stamp; undefined if there is none, or if
   * it has been used.
   */
  readonly findTold: (podUid: string, stamp: Stamp) => ToldStatuses | undefined;
  readonly forgetTold: (podUid: string) => void;
}

/** Decides whether the pod status in an event can replace an inspection. */
export class ToldInspections {
  readonly #options: ToldInspectionsOptions;
  readonly #trust: ToldTrust;

  constructor(options: ToldInspectionsOptions) {
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
    const told = this.#options.findTold(pod.uid, seenStamp);
    if (told === undefined) return undefined;
    const status = statusAsTold({ seen, accepted, known, told });
    if (status === undefined) return undefined;
    this.#options.forgetTold(pod.uid);
    if (this.#trust.use()) return status;
    record.told = { seen, status };
    return undefined;
  }

  /** Compares the stored status with the runtime's answer about the pod as it was listed. */
  compare(record: PodRecord, snapshot: ObservedPod, answered: PodStatus): void {
    const { told } = record;
    record.told = undefined;
    if (told?.seen === snapshot) this.#trust.compare(snapshot, told.status, answered);
  }
}
