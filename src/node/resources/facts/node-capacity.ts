import { type NodeCapacity } from '../../pods/admission/admit-pod.js';
import { type EvictionThreshold, reservedByThresholds } from '#kube/node/eviction-thresholds.js';
import { formatBytes, toMilliUnits, toWholeUnits } from '#kube/fields/quantity.js';
import { leftOf, sumReserved } from './reserved-amounts.js';

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
  const withoutKept = (name: string, all: bigint): bigint =>
    leftOf(all, sumReserved(reserved, name, toWholeUnits) + (kept[name] ?? 0n));
  const inHugePages = [...hugePages.values()].reduce((sum, bytes) => sum + bytes, 0n);
  const others = new Map<string, bigint>();
  if (storageBytes !== undefined)
    others.set('ephemeral-storage', withoutKept('ephemeral-storage', storageBytes));
  for (const [size, bytes] of hugePages) {
    const name = `hugepages-${formatBytes(size)}`;
    others.set(name, withoutKept(name, bytes));
  }
  return {
    pods: podsPerCore > 0 ? Math.min(maxPods, podsPerCore * cores) : maxPods,
    cpuMilli: leftOf(BigInt(cores) * 1_000n, sumReserved(reserved, 'cpu', toMilliUnits)),
    memoryBytes: leftOf(withoutKept('memory', memoryBytes), inHugePages),
    others,
  };
}

/** Everything on the machine, including what is not for pods; memory in huge pages counts as memory. Pure. */
export function computeWholeMachine(facts: CapacityFacts): NodeCapacity {
  const nothingKept = { ...facts, reserved: [], thresholds: [] };
  const { others } = computeCapacity(nothingKept);
  return { ...computeCapacity({ ...nothingKept, hugePages: NO_PAGES }), others };
}
