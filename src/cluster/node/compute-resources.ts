import {
  addQuantities,
  findQuantity,
  formatBytes,
  formatQuantity,
  type Quantity,
} from '#kube/fields/quantity.js';
import { type Amounts } from './node-object.js';
import { type EvictionThreshold, reservedByThresholds } from '#kube/node/eviction-thresholds.js';

/** What a machine has, and what of it is not for pods. */
export interface ResourceFacts {
  /** Logical processors. */
  readonly cores: number;
  readonly memoryBytes: bigint;
  /** Of the disk that pods write to; undefined when unknown. */
  readonly storageBytes: bigint | undefined;
  /** Bytes of huge pages by their size in bytes; 0 for a size that the machine could have. */
  readonly hugePages: ReadonlyMap<bigint, bigint>;
  readonly maxPods: number;
  /** 0: no limit of its own. */
  readonly podsPerCore: number;
  /** Amounts by resource, as systemReserved and kubeReserved have them. */
  readonly reserved: readonly Readonly<Record<string, string>>[];
}

/** What a node has, and what of it pods may have. */
export interface NodeResources {
  readonly capacity: Amounts;
  readonly allocatable: Amounts;
}

const NANOS = 1_000_000_000n;

/**
 * Capacity and allocatable of a Node: what there is, and what is left of it for pods, never below nothing. Pure.
 *
 * Pods do not get what is reserved, nor what is to be left so that the node is not short of it; memory in huge pages
 * cannot be used as any other. Source:
 * https://kubernetes.io/docs/tasks/administer-cluster/reserve-compute-resources/#node-allocatable
 */
export function computeResources(
  facts: ResourceFacts,
  hardThresholds: readonly EvictionThreshold[],
): NodeResources {
  const { cores, memoryBytes, storageBytes, hugePages, maxPods, podsPerCore, reserved } = facts;
  const keptBack = reservedByThresholds(hardThresholds, {
    ...{ memory: memoryBytes, 'ephemeral-storage': storageBytes },
  });
  const capacity: Record<string, Quantity> = {
    cpu: decimal(BigInt(cores)),
    memory: binary(memoryBytes),
    pods: decimal(BigInt(podsPerCore > 0 ? Math.min(maxPods, podsPerCore * cores) : maxPods)),
    ...(storageBytes === undefined ? {} : { 'ephemeral-storage': binary(storageBytes) }),
  };
  for (const [size, bytes] of hugePages) capacity[`hugepages-${formatBytes(size)}`] = binary(bytes);
  const allocatable = Object.entries(capacity).map(([name, amount]): [string, Quantity] => {
    const lists = reserved.flatMap((list) => findQuantity(list[name] ?? '0') ?? []);
    const kept = lists.reduce(addQuantities, decimal(keptBack[name] ?? 0n));
    const inHugePages = name === 'memory' ? sum(hugePages.values()) * NANOS : 0n;
    return [name, atLeastNothing({ ...amount, nanos: amount.nanos - kept.nanos - inHugePages })];
  });
  return { capacity: written(Object.entries(capacity)), allocatable: written(allocatable) };
}

function written(amounts: readonly [string, Quantity][]): Record<string, string> {
  return Object.fromEntries(amounts.map(([name, amount]) => [name, formatQuantity(amount)]));
}

function decimal(amount: bigint): Quantity {
  return { nanos: amount * NANOS, format: 'DecimalSI' };
}

function binary(amount: bigint): Quantity {
  return { nanos: amount * NANOS, format: 'BinarySI' };
}

function atLeastNothing(amount: Quantity): Quantity {
  return amount.nanos < 0n ? { ...amount, nanos: 0n } : amount;
}

function sum(amounts: Iterable<bigint>): bigint {
  let total = 0n;
  for (const amount of amounts) total += amount;
  return total;
}
