import { type EvictionSignal } from './eviction-thresholds.js';

/** How much is left of something, and how much there is; in bytes or pieces. */
export interface Supply {
  readonly available: bigint;
  readonly capacity: bigint;
}

/** Supplies by signal; what could not be measured is absent. */
export type Supplies = Readonly<Partial<Record<EvictionSignal, Supply>>>;
