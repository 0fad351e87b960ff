import { type NodeCapacity } from '../sync/admit-pod.js';
import { findQuantity, toMilliUnits, toWholeUnits } from '../model/quantity.js';

/** What the machine has and what is kept back from pods. */
export interface CapacityFacts {
  readonly cores: number;
  readonly memoryBytes: number;
  readonly maxPods: number;
  /** 0: no limit of its own. */
  readonly podsPerCore: number;
  /** Amounts by resource, as systemReserved and kubeReserved of a KubeletConfiguration have them. */
  readonly reserved: readonly Readonly<Record<string, string>>[];
}

/** What pods may use together: what there is, less what is reserved, and never below nothing. Pure. */
export function computeCapacity(facts: CapacityFacts): NodeCapacity {
  const { cores, memoryBytes, maxPods, podsPerCore, reserved } = facts;
  const amountOf = (name: string, unit: typeof toWholeUnits): bigint =>
    reserved
      .map((list) => findQuantity(list[name] ?? '0'))
      .reduce((sum, quantity) => sum + (quantity === undefined ? 0n : unit(quantity)), 0n);
  const left = (all: bigint, kept: bigint): bigint => (kept < all ? all - kept : 0n);
  return {
    pods: podsPerCore > 0 ? Math.min(maxPods, podsPerCore * cores) : maxPods,
    cpuMilli: left(BigInt(cores) * 1_000n, amountOf('cpu', toMilliUnits)),
    memoryBytes: left(BigInt(memoryBytes), amountOf('memory', toWholeUnits)),
  };
}
