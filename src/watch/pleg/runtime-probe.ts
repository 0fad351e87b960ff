import { type Clock } from '#base/time/clock.js';
import { type PodRecord } from './pod-records.js';
import { SideInspections, type SideInspectionsOptions } from './inspection/side-inspections.js';

/** Options of a {@link RuntimeProbe}. */
export interface RuntimeProbeOptions extends Omit<SideInspectionsOptions, 'urgent' | 'failed'> {
  readonly clock: Clock;
  /** The pods that may be probed: those with nothing due. */
  readonly candidates: () => readonly PodRecord[];
  /** Called when the runtime has answered. */
  readonly onAnswer: () => void;
}

/** Minimum time without a successful inspection, and since the last probe, in milliseconds. */
const PROBE_INTERVAL_MS = 10_000;

/**
 * Distinguishes a sick runtime from sick pods.
 *
 * While no due pod answers, it inspects a pod that is not due from time to time, each time another one. A
 * probe that hangs proves nothing about the others.
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

  /** How many probes were started. */
  get probes(): number {
    return this.#inspections.begun;
  }

  /** How many of them failed. */
  get failures(): number {
    return this.#inspections.failures;
  }

  /** Probes a pod if it is time to: `fruitlessMs` is how long no inspection of a due pod has succeeded. */
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

  /** Cancels the running probes, hanging ones included; they then count for nothing. */
  cancel(reason: Error): void {
    this.#inspections.cancel(reason);
  }
}
