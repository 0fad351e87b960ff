import { type ObservedPod, type PodStatus } from '../../observed/runtime.js';
import { SideInspections, type SideInspectionsOptions } from '../inspection/side-inspections.js';
import { type ToldTrust } from './told-trust.js';

/** What {@link ToldChecks} work with. */
export interface ToldChecksOptions extends Omit<SideInspectionsOptions, 'urgent' | 'failed'> {
  readonly trust: ToldTrust;
}

/**
 * Asks the runtime about pods of which everything was told, to hold what it answers against what its event told.
 *
 * Nothing else comes of the answer: neither the cache nor anything that is told of the pod waits for it. One at a time, but for
 * those that hang, which say nothing.
 */
export class ToldChecks {
  readonly #trust: ToldTrust;
  readonly #inspections: SideInspections;

  constructor({ trust, ...parts }: ToldChecksOptions) {
    this.#trust = trust;
    this.#inspections = new SideInspections({
      ...parts,
      ...{ urgent: false, failed: 'PLEG: Check of what an event told failed' },
    });
  }

  /** How many were begun. */
  get begun(): number {
    return this.#inspections.begun;
  }

  /** How many of them failed. */
  get failures(): number {
    return this.#inspections.failures;
  }

  /** Asks about a pod that is as `seen`, and of which an event told `status`; does nothing while another is asked about. */
  check(seen: ObservedPod, status: PodStatus): void {
    if (this.#inspections.isBusy) return;
    const { uid, namespace, name } = seen;
    this.#inspections.begin(seen, { uid, namespace, name }, (answered) =>
      this.#trust.compare(seen, status, answered),
    );
  }

  /** Gives up those that are under way; they then count for nothing. */
  cancel(reason: Error): void {
    this.#inspections.cancel(reason);
  }
}
