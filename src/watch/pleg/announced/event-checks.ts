import { type ObservedPod, type PodStatus } from '../../observed/runtime.js';
import { SideInspections, type SideInspectionsOptions } from '../inspection/side-inspections.js';
import { type EventAccuracy } from './event-accuracy.js';

/** Options of {@link EventChecks}. */
export interface EventChecksOptions extends Omit<SideInspectionsOptions, 'urgent' | 'failed'> {
  readonly trust: EventAccuracy;
}

/**
 * Verifies the pod status of an event by asking the runtime for it.
 *
 * The answer is used for nothing else: neither the cache nor any event waits for it. One check runs at a
 * time, not counting those that hang, which prove nothing.
 */
export class EventChecks {
  readonly #trust: EventAccuracy;
  readonly #inspections: SideInspections;

  constructor({ trust, ...parts }: EventChecksOptions) {
    this.#trust = trust;
    this.#inspections = new SideInspections({
      ...parts,
      ...{ urgent: false, failed: 'PLEG: Check of the status in an event failed' },
    });
  }

  /** How many checks were started. */
  get begun(): number {
    return this.#inspections.begun;
  }

  /** How many of them failed. */
  get failures(): number {
    return this.#inspections.failures;
  }

  /**
   * Starts a check of the `status` that an event had of a pod listed as `seen`; does nothing while another
   * check runs.
   */
  check(seen: ObservedPod, status: PodStatus): void {
    if (this.#inspections.isBusy) return;
    const { uid, namespace, name } = seen;
    this.#inspections.begin(seen, { uid, namespace, name }, (answered) =>
      this.#trust.compare(seen, status, answered),
    );
  }

  /** Cancels the running checks; they then count for nothing. */
  cancel(reason: Error): void {
    this.#inspections.cancel(reason);
  }
}
