import { type ObservedPod, type PodStatus, type Runtime } from '../runtime/runtime.js';
import { type Logger } from '../util/logger.js';
import { type InspectionHandle, type InspectionPool } from './inspection-pool.js';
import { type ToldTrust } from './told-trust.js';

/** What {@link ToldChecks} work with. */
export interface ToldChecksOptions {
  readonly runtime: Runtime;
  readonly logger: Logger;
  readonly pool: InspectionPool;
  readonly trust: ToldTrust;
}

/**
 * Asks the runtime about pods of which everything was told, to hold what it answers against what its event told.
 *
 * Nothing else comes of the answer: neither the cache nor anything that is told of the pod waits for it. One at a time.
 */
export class ToldChecks {
  readonly #options: ToldChecksOptions;
  #underWay: InspectionHandle<unknown> | undefined;
  #begun = 0;
  #failures = 0;
  #cancelReason: Error | undefined;

  constructor(options: ToldChecksOptions) {
    this.#options = options;
  }

  /** How many were begun. */
  get begun(): number {
    return this.#begun;
  }

  /** How many of them failed. */
  get failures(): number {
    return this.#failures;
  }

  /** Asks about a pod that is as `seen`, and of which an event told `status`; does nothing while another is asked about. */
  check(seen: ObservedPod, status: PodStatus): void {
    if (this.#underWay !== undefined) return;
    const { runtime, logger, pool, trust } = this.#options;
    const { uid, namespace, name } = seen;
    const pod = { uid, namespace, name };
    this.#begun++;
    const handle = pool.submit<PodStatus>({
      pod,
      urgent: false,
      knownSlow: false,
      run: async (signal) => await runtime.getPodStatus(seen, signal),
    });
    this.#underWay = handle;
    handle.result.then(
      (answered) => trust.compare(seen, status, answered),
      (error: unknown) => {
        if (error === this.#cancelReason) return;
        this.#failures++;
        logger.info('PLEG: Check of what an event told failed', { pod, podUID: uid, err: error }, 2);
      },
    );
    // One that hangs says nothing: the next asks about another pod.
    void handle.budgetEnd.then(() => (this.#underWay = undefined));
  }

  /** Gives up the one that is under way; it then counts for nothing. */
  cancel(reason: Error): void {
    this.#cancelReason = reason;
    this.#underWay?.cancel(reason);
  }
}
