import { type Clock } from '#base/time/clock.js';
import { type PodRecord } from './pod-records.js';
import { SideInspections, type SideInspectionsOptions } from './inspection/side-inspections.js';

/** What a {@link RuntimeProbe} works with. */
export interface RuntimeProbeOptions extends Omit<SideInspectionsOptions, 'urgent' | 'failed'> {
  readonly clock: Clock;
  /** Pods that can be asked: those of which nothing is due. */
  readonly candidates: () => readonly PodRecord[];
  /** The runtime has answered. */
  readonly onAnswer: () => void;
}

/** How long no inspection must have succeeded, and how long ago the last probe must be, in milliseconds. */
const PROBE_INTERVAL_MS = 10_000;

/**
 * Tells a sick runtime from sick pods: while no pod that is due answers, one that is not due is inspected now and
 * then, each time another. One that hangs proves nothing against the others.
 */
export class RuntimeProbe {
  readonly #options: Pick<RuntimeProbeOptions, 'clock' | 'candidates' | 'onAnswer'>;
  readonly #inspections: SideInspections;
  #lastMs = Number.NEGATIVE_INFINITY;

  constructor({ clock, candidates, onAnswer, ...parts }: RuntimeProbeOptions) {
    this.#options = { clock, candidates, onAnswer };
    this.#inspections = new SideInspections({
      ...parts,
      ...{ urgent: true, failed: 'PLEG: Probe inspection failed' },
    });
  }

  /** How many probes were begun. */
  get probes(): number {
    return this.#inspections.begun;
  }

  /** How many of them failed. */
  get failures(): number {
    return this.#inspections.failures;
  }

  /** Asks a pod if it is time to: `fruitlessMs` is for how long no inspection of a pod that is due has succeeded. */
  consider(fruitlessMs: number): void {
    const { clock, candidates, onAnswer } = this.#options;
    const now = clock.monotonicMs();
    if (this.#inspections.isBusy || now - this.#lastMs < PROBE_INTERVAL_MS) return;
    if (fruitlessMs < PROBE_INTERVAL_MS) return;
    const all = candidates();
    const record = all[this.probes % Math.max(1, all.length)];
    if (record === undefined) return;
    this.#lastMs = now;
    this.#inspections.begin(record.seen, record.pod, onAnswer);
  }

  /** Gives up the probes that are under way, those that hang as well; they then count for nothing. */
  cancel(reason: Error): void {
    this.#inspections.cancel(reason);
  }
}
