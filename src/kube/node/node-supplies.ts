import { type EvictionSignal, type EvictionThreshold, leastOf } from './eviction-thresholds.js';

/** How much of a resource is left, and its capacity; in bytes or pieces. */
export interface Supply {
  readonly available: bigint;
  readonly capacity: bigint;
}

/** Supplies by signal; a supply that could not be measured is absent. */
export type Supplies = Readonly<Partial<Record<EvictionSignal, Supply>>>;

/** The supply if it is below the threshold; undefined if there is enough, or it is unknown. Pure. */
export function findShortage(threshold: EvictionThreshold, supplies: Supplies): Supply | undefined {
  const supply = supplies[threshold.signal];
  return supply !== undefined && supply.available < leastOf(threshold, supply.capacity) ? supply : undefined;
}
