/**
 * The thresholds in a KubeletConfiguration below which a node is short of a resource.
 *
 * Source:
 * https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/#eviction-signals-and-thresholds
 *
 * @module
 */
import { findQuantity, toWholeUnits } from '../fields/quantity.js';

/** The resources that can run short, as the configuration names them. */
export const EVICTION_SIGNALS = [
  ...(['memory.available', 'nodefs.available', 'nodefs.inodesFree'] as const),
  ...(['imagefs.available', 'imagefs.inodesFree'] as const),
  ...(['containerfs.available', 'containerfs.inodesFree', 'pid.available'] as const),
  'allocatableMemory.available',
] as const;

/** One of {@link EVICTION_SIGNALS}. */
export type EvictionSignal = (typeof EVICTION_SIGNALS)[number];

/** Whether this is the name of a signal. */
export function isEvictionSignal(name: string): name is EvictionSignal {
  return EVICTION_SIGNALS.some((each) => each === name);
}

/** The threshold below which too little is left. */
export interface EvictionThreshold {
  readonly signal: EvictionSignal;
  /** In bytes or pieces, or as a share of the capacity, 0 to 1. */
  readonly least: { readonly amount: bigint } | { readonly share: number };
}

/** The thresholds in a configuration: `{ 'memory.available': '100Mi', 'nodefs.available': '10%' }`. */
export type WrittenThresholds = Readonly<Record<string, string>>;

/** The kubelet's defaults. */
export const DEFAULT_HARD_THRESHOLDS: WrittenThresholds = {
  'memory.available': '100Mi',
  'nodefs.available': '10%',
  'nodefs.inodesFree': '5%',
  'imagefs.available': '15%',
  'imagefs.inodesFree': '5%',
};

/**
 * Adds what a kubelet adds where all pods together are limited: what is written for the memory of the machine holds for theirs, too. So
 * pods are evicted before they reach that limit, where the kernel would kill. Pure.
 */
export function withMemoryOfPods(
  written: WrittenThresholds,
  { enforceNodeAllocatable }: { readonly enforceNodeAllocatable: readonly string[] },
): WrittenThresholds {
  const { 'memory.available': memory } = written;
  if (memory === undefined || !enforceNodeAllocatable.includes('pods')) return written;
  return { 'allocatableMemory.available': memory, ...written };
}

/**
 * Parses thresholds; `0%` and `100%` switch one off. Throws an Error that says which one is wrong and what
 * would be right.
 */
export function parseThresholds(written: WrittenThresholds): EvictionThreshold[] {
  return Object.entries(written).flatMap(([name, text]) => {
    const threshold = toThreshold(name, text, 'an amount above 0');
    return text === '0%' || text === '100%' ? [] : [threshold];
  });
}

/**
 * Parses how much more has to be free again after an eviction.
 *
 * The notation is that of thresholds, except that 0 means no more. Throws like {@link parseThresholds}.
 */
export function parseReclaims(written: WrittenThresholds): EvictionThreshold[] {
  return Object.entries(written).map(([name, text]) => toThreshold(name, text, 'an amount'));
}

function toThreshold(
  name: string,
  text: string,
  amount: 'an amount' | 'an amount above 0',
): EvictionThreshold {
  if (!isEvictionSignal(name)) throw new Error(`${name}: use one of ${EVICTION_SIGNALS.join(', ')}`);
  const least = parseLeast(text);
  const isNothing = least !== undefined && 'amount' in least && least.amount === 0n;
  if (least !== undefined && (amount === 'an amount' || !isNothing)) return { signal: name, least };
  const rule = `is neither ${amount}, such as 100Mi, nor a share, such as 10%`;
  throw new Error(`${name}: ${JSON.stringify(text)} ${rule}`);
}

function parseLeast(text: string): EvictionThreshold['least'] | undefined {
  const percent = /^(\d+(?:\.\d+)?|\.\d+)%$/.exec(text)?.[1];
  if (percent !== undefined) return Number(percent) <= 100 ? { share: Number(percent) / 100 } : undefined;
  const quantity = findQuantity(text);
  return quantity === undefined || quantity.nanos < 0n ? undefined : { amount: toWholeUnits(quantity) };
}

/** The threshold as an amount, for this capacity. Pure. */
export function leastOf({ least }: EvictionThreshold, capacity: bigint): bigint {
  if ('amount' in least) return least.amount;
  return BigInt(Math.trunc(Number(capacity) * least.share));
}

/**
 * What is reserved from pods, by resource, so that the node runs short before it runs out. Pure.
 *
 * It is the amount of the hard thresholds for memory and for the node's disk.
 */
export function reservedByThresholds(
  thresholds: readonly EvictionThreshold[],
  capacity: { readonly memory: bigint; readonly 'ephemeral-storage': bigint | undefined },
): Record<string, bigint> {
  const resources: Partial<Record<EvictionSignal, 'memory' | 'ephemeral-storage'>> = {
    'memory.available': 'memory',
    'nodefs.available': 'ephemeral-storage',
  };
  return Object.fromEntries(
    thresholds.flatMap((threshold): [string, bigint][] => {
      const resource = resources[threshold.signal];
      const all = resource && capacity[resource];
      return resource === undefined || all === undefined ? [] : [[resource, leastOf(threshold, all)]];
    }),
  );
}
