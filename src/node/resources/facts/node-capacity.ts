import { type NodeCapacity } from '../../pods/admission/admit-pod.js';
import { type EvictionThreshold, reservedByThresholds } from '#kube/node/eviction-thresholds.js';
import { findQuantity, formatBytes, toMilliUnits, toWholeUnits } from '#kube/fields/quantity.js';

const NO_PAGES: ReadonlyMap<bigint, bigint> = new Map();

/** What the machine has and what is reserved. */
export interface CapacityFacts {
  readonly cores: number;
  readonly memoryBytes: bigint;
  /** Size of the disk that pods write to; undefined when unknown. */
  readonly storageBytes?: bigint | undefined;
  /** Bytes of huge pages by their size in bytes. */
  readonly hugePages?: ReadonlyMap<bigint, bigint>;
  readonly maxPods: number;
  /** 0: no such limit. */
  readonly podsPerCore: number;
  /** Amounts by resource, like systemReserved and kubeReserved of a KubeletConfiguration. */
  readonly reserved: readonly Readonly<Record<string, string>>[];
  /** The node is short of it below these thresholds, so pods cannot have that part. */
  readonly thresholds?: readonly EvictionThreshold[];
}

/**
 * What all pods together may use; never below zero. Pure. A node of a cluster reports the same as its
 * allocatable.
 *
 * It is the whole, without what is reserved, without the eviction thresholds, and without memory in huge
 * pages.
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

/** Everything on the machine, including what is not for pods; memory in huge pages counts as memory. Pure. */
export function computeWholeMachine(facts: CapacityFacts): NodeCapacity {
  const nothingKept = { ...facts, reserved: [], thresholds: [] };
  const { others } = computeCapacity(nothingKept);
  return { ...computeCapacity({ ...nothingKept, hugePages: NO_PAGES }), others };
}
