import { type PodRef } from '#kube/pod/pod-ref.js';
import { type ObservedPod, type PodStatus, type Runtime } from '../../observed/runtime.js';
import { type Logger } from '#base/log/logger.js';
import { type InspectionHandle, type InspectionPool } from './inspection-pool.js';

/** What {@link SideInspections} work with. */
export interface SideInspectionsOptions {
  readonly runtime: Runtime;
  readonly logger: Logger;
  readonly pool: InspectionPool;
  /** Goes before those that are not; see the pool's Inspection. */
  readonly urgent: boolean;
  /** What the log says of one that failed. */
  readonly failed: string;
}

/**
 * Inspections beside those that are due: the record of the pod neither waits for the answer nor changes by it.
 *
 * One at a time, but for those that hang: the next does not wait for them.
 */
export class SideInspections {
  readonly #options: SideInspectionsOptions;
  /** Those that have not ended, the hanging ones among them. */
  readonly #handles = new Set<InspectionHandle<PodStatus>>();
  /** The one that the next waits for. */
  #underWay: InspectionHandle<PodStatus> | undefined;
  #begun = 0;
  #failures = 0;
  #cancelReason: Error | undefined;

  constructor(options: SideInspectionsOptions) {
    this.#options = options;
  }

  /** Whether the next has to wait. */
  get isBusy(): boolean {
    return this.#underWay !== undefined;
  }

  /** How many were begun. */
  get begun(): number {
    return this.#begun;
  }

  /** How many of them failed. */
  get failures(): number {
    return this.#failures;
  }

  /** Asks the runtime about a pod that is as `seen`. Only while it is not busy. */
  begin(seen: ObservedPod, pod: PodRef, onAnswer: (answered: PodStatus) => void): void {
    const { runtime, logger, pool, urgent, failed } = this.#options;
    this.#begun++;
    const handle = pool.submit({
      ...{ pod, urgent, knownSlow: false },
      run: async (signal) => await runtime.getPodStatus(seen, signal),
    });
    this.#underWay = handle;
    this.#handles.add(handle);
    const ended = handle.result.then(onAnswer, (error: unknown) => {
      if (error === this.#cancelReason) return;
      this.#failures++;
      logger.info(failed, { pod, podUID: pod.uid, err: error }, 2);
    });
    void ended.finally(() => this.#handles.delete(handle));
    void handle.budgetEnd.then(() => (this.#underWay = undefined));
  }

  /** Gives up those that are under way, those that hang as well; they then count for nothing. */
  cancel(reason: Error): void {
    this.#cancelReason = reason;
    for (const handle of this.#handles) handle.cancel(reason);
  }
}
