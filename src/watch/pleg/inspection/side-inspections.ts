import { type PodRef } from '#kube/pod/pod-ref.js';
import { type ObservedPod, type PodStatus, type Runtime } from '../../observed/runtime.js';
import { type Logger } from '#base/log/logger.js';
import { type InspectionHandle, type InspectionPool } from './inspection-pool.js';

/** Options of {@link SideInspections}. */
export interface SideInspectionsOptions {
  readonly runtime: Runtime;
  readonly logger: Logger;
  readonly pool: InspectionPool;
  /** Priority over others that are not urgent; see the pool's Inspection. */
  readonly urgent: boolean;
  /** The log message of a failed one. */
  readonly failed: string;
}

/**
 * Inspections that are independent of due ones: the pod's record neither waits for the answer nor changes by
 * it.
 *
 * One runs at a time, not counting those that hang.
 */
export class SideInspections {
  readonly #options: SideInspectionsOptions;
  /** The running ones, hanging ones included. */
  readonly #handles = new Set<InspectionHandle<PodStatus>>();
  /** The one that the next waits for. */
  #underWay: InspectionHandle<PodStatus> | undefined;
  #begun = 0;
  #failures = 0;
  #cancelReason: Error | undefined;

  constructor(options: SideInspectionsOptions) {
    this.#options = options;
  }

  /** Whether the next one has to wait. */
  get isBusy(): boolean {
    return this.#underWay !== undefined;
  }

  /** How many were started. */
  get begun(): number {
    return this.#begun;
  }

  /** How many of them failed. */
  get failures(): number {
    return this.#failures;
  }

  /** Asks the runtime for the status of a pod listed as `seen`. Call it only while not busy. */
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

  /** Cancels the running ones, hanging ones included; they then count for nothing. */
  cancel(reason: Error): void {
    this.#cancelReason = reason;
    for (const handle of this.#handles) handle.cancel(reason);
  }
}
