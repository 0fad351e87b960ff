/**
 * When a node is short of something: the thresholds of a KubeletConfiguration.
 *
 * Source: https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/#eviction-signals-and-thresholds
 *
 * @module
 */
import { findQuantity, toWholeUnits } from '../fields/quantity.js';

/** What can be short, as the configuration names it. */
export const EVICTION_SIGNALS = [
  ...(['memory.available', 'nodefs.available', 'nodefs.inodesFree'] as const),
  ...(['imagefs.available', 'imagefs.inodesFree'] as const),
  ...(['containerfs.available', 'containerfs.inodesFree', 'pid.available'] as const),
] as const;

/** One of them. */
export type EvictionSignal = (typeof EVICTION_SIGNALS)[number];

/** Whether it is the name of one. */
export function isEvictionSignal(name: string): name is EvictionSignal {
  return EVICTION_SIGNALS.some((each) => each === name);
}

/** From which amount on too little is left. */
export interface EvictionThreshold {
  readonly signal: EvictionSignal;
  /** In bytes or pieces, or as a share of all that there is, 0 to 1. */
  readonly least: { readonly amount: bigint } | { readonly share: number };
}

/** What a configuration says about it: `{ 'memory.available': '100Mi', 'nodefs.available': '10%' }`. */
export type WrittenThresholds = Readonly<Record<string, string>>;

/** The kubelet's, where nothing is written. */
export const DEFAULT_HARD_THRESHOLDS: WrittenThresholds = {
  'memory.available': '100Mi',
  'nodefs.available': '10%',
  'nodefs.inodesFree': '5%',
  'imagefs.available': '15%',
  'imagefs.inodesFree': '5%',
};

/** Reads thresholds; `0%` and `100%` switch one off. Throws an Error that says which one is wrong and what would be right. */
export function parseThresholds(written: WrittenThresholds): EvictionThreshold[] {
  return Object.entries(written).flatMap(([name, text]) => {
    const threshold = toThreshold(name, text, 'an amount above 0');
    return text === '0%' || text === '100%' ? [] : [threshold];
  });
}

/** Reads how much more is to be left again: written as thresholds are, but 0 is nothing more. Throws likewise. */
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

/** From how much on it is too little, of so much in all. Pure. */
export function leastOf({ least }: EvictionThreshold, capacity: bigint): bigint {
  if ('amount' in least) return least.amount;
  return BigInt(Math.trunc(Number(capacity) * least.share));
}

/**
 * What is kept back from pods so that a node is short of it before it has none: of memory and of the node's disk what
 * the hard thresholds say, by resource. Pure.
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
