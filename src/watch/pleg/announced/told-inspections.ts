import { type ObservedPod, type PodStatus, type ToldStatuses } from '../../observed/runtime.js';
import { type Stamp } from '#base/time/clock.js';
import { type PodRecord } from '../pod-records.js';
import { statusAsTold } from './told-status.js';
import { type ToldTrust } from './told-trust.js';

/** What {@link ToldInspections} need. */
export interface ToldInspectionsOptions {
  readonly trust: ToldTrust;
  /** What an event told of a pod that came before a look with this stamp; undefined where none has, or all of it has been used. */
  readonly findTold: (podUid: string, stamp: Stamp) => ToldStatuses | undefined;
  readonly forgetTold: (podUid: string) => void;
}

/** Finds out whether what an event told of a pod may stand for an inspection of it. */
export class ToldInspections {
  readonly #options: ToldInspectionsOptions;
  readonly #trust: ToldTrust;

  constructor(options: ToldInspectionsOptions) {
    this.#options = options;
    this.#trust = options.trust;
  }

  /**
   * The status that an event told of a pod as it was last seen, where it may be used; else it is kept, to be held against the
   * answer.
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

  /** The runtime has answered about the pod as a look had shown it. */
  compare(record: PodRecord, snapshot: ObservedPod, answered: PodStatus): void {
    const { told } = record;
    record.told = undefined;
    if (told?.seen === snapshot) this.#trust.compare(snapshot, told.status, answered);
  }
}
