import { type Runtime } from '../runtime/runtime.js';
import { type Clock } from '../util/clock.js';
import { type Logger } from '../util/logger.js';
import { type InspectionHandle, type InspectionPool } from './inspection-pool.js';
import { type PodRecord } from './pod-records.js';

/** What a {@link RuntimeProbe} works with. */
export interface RuntimeProbeOptions {
  readonly runtime: Runtime;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly pool: InspectionPool;
  /** Pods that can be asked: those of which nothing is due. */
  readonly candidates: () => readonly PodRecord[];
  /** The runtime has answered. */
  readonly onAnswer: () => void;
}

/** How long no inspection must have succeeded, and how long ago the last probe must be, in milliseconds. */
const PROBE_INTERVAL_MS = 10_000;

/**
 * Tells a sick runtime from sick pods: while no pod that is due answers, one that is not due is inspected now and
 * then, each time another.
 */
export class RuntimeProbe {
  readonly #options: RuntimeProbeOptions;
  /** Those that have not ended. */
  readonly #handles = new Set<InspectionHandle<unknown>>();
  /** The one that the next waits for. */
  #underWay: InspectionHandle<unknown> | undefined;
  #lastMs = Number.NEGATIVE_INFINITY;
  #probes = 0;
  #failures = 0;
  #cancelReason: Error | undefined;

  constructor(options: RuntimeProbeOptions) {
    this.#options = options;
  }

  /** How many probes were begun. */
  get probes(): number {
    return this.#probes;
  }

  /** How many of them failed. */
  get failures(): number {
    return this.#failures;
  }

  /** Asks a pod if it is time to: `fruitlessMs` is for how long no inspection of a pod that is due has succeeded. */
  consider(fruitlessMs: number): void {
    const { runtime, clock, logger, pool, candidates, onAnswer } = this.#options;
    const now = clock.monotonicMs();
    if (this.#underWay !== undefined || now - this.#lastMs < PROBE_INTERVAL_MS) return;
    if (fruitlessMs < PROBE_INTERVAL_MS) return;
    const all = candidates();
    const record = all[this.#probes % Math.max(1, all.length)];
    if (record === undefined) return;
    const { pod, seen } = record;
    this.#lastMs = now;
    this.#probes++;
    const handle = pool.submit({
      pod,
      urgent: true,
      knownSlow: false,
      run: async (signal) => await runtime.getPodStatus(seen, signal),
    });
    this.#underWay = handle;
    this.#handles.add(handle);
    const ended = handle.result.then(onAnswer, (error: unknown) => {
      if (error === this.#cancelReason) return;
      this.#failures++;
      logger.info('PLEG: Probe inspection failed', { pod, podUID: pod.uid, err: error }, 2);
    });
    void ended.finally(() => this.#handles.delete(handle));
    // One that hangs proves nothing against the others: the next probe asks another pod.
    void handle.budgetEnd.then(() => (this.#underWay = undefined));
  }

  /** Gives up the probes that are under way, those that hang as well; they then count for nothing. */
  cancel(reason: Error): void {
    this.#cancelReason = reason;
    for (const handle of this.#handles) handle.cancel(reason);
  }
}
