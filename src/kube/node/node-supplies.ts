import { type EvictionSignal, type EvictionThreshold, leastOf } from './eviction-thresholds.js';

/** How much is left of something, and how much there is; in bytes or pieces. */
export interface Supply {
  readonly available: bigint;
  readonly capacity: bigint;
}

/** Supplies by signal; what could not be measured is absent. */
export type Supplies = Readonly<Partial<Record<EvictionSignal, Supply>>>;

/** What is left, where that is less than a threshold says; undefined where there is enough, or nobody knows. Pure. */
export function findShortage(threshold: EvictionThreshold, supplies: Supplies): Supply | undefined {
  const supply = supplies[threshold.signal];
  return supply !== undefined && supply.available < leastOf(threshold, supply.capacity) ? supply : undefined;
}
