import { type NodeCapacity } from '../../pods/admission/admit-pod.js';
import { type EvictionThreshold, reservedByThresholds } from '#kube/node/eviction-thresholds.js';
import { findQuantity, formatBytes, toMilliUnits, toWholeUnits } from '#kube/fields/quantity.js';

const NO_PAGES: ReadonlyMap<bigint, bigint> = new Map();

/** What the machine has and what is kept back from pods. */
export interface CapacityFacts {
  readonly cores: number;
  readonly memoryBytes: bigint;
  /** Of the disk that pods write to; undefined when that cannot be told. */
  readonly storageBytes?: bigint | undefined;
  /** Bytes of huge pages by their size in bytes. */
  readonly hugePages?: ReadonlyMap<bigint, bigint>;
  readonly maxPods: number;
  /** 0: no limit of its own. */
  readonly podsPerCore: number;
  /** Amounts by resource, as systemReserved and kubeReserved of a KubeletConfiguration have them. */
  readonly reserved: readonly Readonly<Record<string, string>>[];
  /** With less than that left the node is short of it: not for pods, either. */
  readonly thresholds?: readonly EvictionThreshold[];
}

/**
 * What pods may use together: what there is, less what is reserved, what has to be left, and of memory what is in huge
 * pages; never below nothing. Pure. A node of a cluster says the same in its allocatable.
 */
export function computeCapacity(facts: CapacityFacts): NodeCapacity {
  const {
    cores,
    memoryBytes,
    maxPods,
    podsPerCore,
    reserved,
    storageBytes,
    hugePages = NO_PAGES,
    thresholds = [],
  } = facts;
  const kept = reservedByThresholds(thresholds, { memory: memoryBytes, 'ephemeral-storage': storageBytes });
  const amountOf = (name: string, unit: typeof toWholeUnits): bigint =>
    reserved
      .map((list) => findQuantity(list[name] ?? '0'))
      .reduce((sum, quantity) => sum + (quantity === undefined ? 0n : unit(quantity)), 0n);
  const left = (all: bigint, gone: bigint): bigint => (gone < all ? all - gone : 0n);
  const leftOf = (name: string, all: bigint): bigint =>
    left(all, amountOf(name, toWholeUnits) + (kept[name] ?? 0n));
  const inHugePages = [...hugePages.values()].reduce((sum, bytes) => sum + bytes, 0n);
  const others = new Map<string, bigint>();
  if (storageBytes !== undefined) others.set('ephemeral-storage', leftOf('ephemeral-storage', storageBytes));
  for (const [size, bytes] of hugePages) {
    const name = `hugepages-${formatBytes(size)}`;
    others.set(name, leftOf(name, bytes));
  }
  return {
    pods: podsPerCore > 0 ? Math.min(maxPods, podsPerCore * cores) : maxPods,
    cpuMilli: left(BigInt(cores) * 1_000n, amountOf('cpu', toMilliUnits)),
    memoryBytes: left(leftOf('memory', memoryBytes), inHugePages),
    others,
  };
}

/** All that there is, also what is not for pods: nothing is kept back, and memory in huge pages is memory. Pure. */
export function computeWholeMachine(facts: CapacityFacts): NodeCapacity {
  const nothingKept = { ...facts, reserved: [], thresholds: [] };
  const { others } = computeCapacity(nothingKept);
  return { ...computeCapacity({ ...nothingKept, hugePages: NO_PAGES }), others };
}
