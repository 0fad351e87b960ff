import { leastOf } from '#kube/node/eviction-thresholds.js';
import { type Supplies, type Supply } from '#kube/node/node-supplies.js';
import { enoughOf, type EvictionRule, resourceOf } from './eviction-rules.js';

/** A threshold to act on, and what is left. */
export interface MetThreshold {
  readonly rule: EvictionRule;
  readonly supply: Supply;
}

/**
 * Tracks which thresholds are met, and for how long.
 *
 * A threshold that was acted upon stays met until its minimum reclaim is reached, so that a node does not
 * evict again a moment later. A signal that could not be measured is not met now; the grace period of a soft
 * one continues meanwhile.
 */
export class MetThresholds {
  readonly #rules: readonly EvictionRule[];
  /** Since when too little is left, monotonic. */
  readonly #sinceMs = new Map<EvictionRule, number>();
  /** Thresholds whose grace period was over at the last measurement. */
  #actedUpon: ReadonlySet<EvictionRule> = new Set();

  constructor(rules: readonly EvictionRule[]) {
    this.#rules = rules;
  }

  /**
   * Thresholds whose grace period is over, the most pressing first: memory before all, hard ones before soft
   * ones.
   */
  observe(supplies: Supplies, nowMs: number): readonly MetThreshold[] {
    const met = this.#rules.flatMap((rule): MetThreshold[] => {
      const supply = supplies[rule.signal];
      if (supply === undefined) return [];
      const { available, capacity } = supply;
      const enough = this.#actedUpon.has(rule) ? enoughOf(rule, capacity) : leastOf(rule, capacity);
      if (available >= enough) {
        this.#sinceMs.delete(rule);
        return [];
      }
      const sinceMs = this.#sinceMs.get(rule) ?? nowMs;
      this.#sinceMs.set(rule, sinceMs);
      return nowMs - sinceMs >= rule.graceMs ? [{ rule, supply }] : [];
    });
    this.#actedUpon = new Set(met.map(({ rule }) => rule));
    return met.sort((one, other) => rankOf(one.rule) - rankOf(other.rule));
  }
}

function rankOf({ signal, isHard }: EvictionRule): number {
  return (resourceOf(signal) === 'memory' ? 0 : 2) + (isHard ? 0 : 1);
}
