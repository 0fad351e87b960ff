import { type ObservedPod, type PodStatus, type ToldStatuses } from '../runtime/runtime.js';
import { type PodRecord } from './pod-records.js';
import { statusAsTold } from './told-status.js';
import { type ToldStats, ToldTrust } from './told-trust.js';

/** What events have told of a pod. */
export interface ToldOfPod {
  /** Undefined when none has come before the look, or all that was told has been used. */
  readonly find: () => ToldStatuses | undefined;
  readonly forget: () => void;
}

/** Finds out whether what an event told of a pod may stand for an inspection of it. */
export class ToldInspections {
  readonly #trust: ToldTrust;

  constructor(options: { readonly believedAfter: number }) {
    this.#trust = new ToldTrust(options);
  }

  get stats(): ToldStats {
    return this.#trust.stats;
  }

  /** The status that an event told, where it may be used; else it is kept, to be held against the answer. */
  find(record: PodRecord, known: PodStatus, { find, forget }: ToldOfPod): PodStatus | undefined {
    const told = record.inspection === undefined ? find() : undefined;
    if (told === undefined) return undefined;
    const { seen, accepted } = record;
    const status = statusAsTold({ seen, accepted, known, told });
    if (status === undefined) return undefined;
    forget();
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

  /** The events may be those of another runtime from now on. */
  reset(): void {
    this.#trust.reset();
  }
}
