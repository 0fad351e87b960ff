/**
 * The eviction settings of a configuration combined: thresholds, grace periods, and minimum reclaims.
 *
 * Source: https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/#eviction-thresholds
 *
 * @module
 */
import {
  type EvictionSignal,
  type EvictionThreshold,
  leastOf,
  parseReclaims,
  parseThresholds,
  type WrittenThresholds,
} from '#kube/node/eviction-thresholds.js';
import { messageOf } from '#base/errors/errors.js';

/** What pods are evicted for. */
export type StarvedResource = 'memory' | 'ephemeral-storage' | 'inodes' | 'pids';

/** A threshold and how to act on it. */
export interface EvictionRule extends EvictionThreshold {
  /** Pods get one second to end, and no grace period applies. */
  readonly isHard: boolean;
  /** How long the shortage has to last; 0 for a hard one. */
  readonly graceMs: number;
  /** How much more than the threshold has to be free until it is enough again. */
  readonly reclaim: EvictionThreshold['least'];
}

/** As configured; grace periods in milliseconds. */
export interface WrittenRules {
  readonly hard: WrittenThresholds;
  readonly soft: WrittenThresholds;
  readonly softGraceMs: Readonly<Record<string, number>>;
  readonly minimumReclaim: WrittenThresholds;
}

const NOTHING = { amount: 0n };

/** The grace period of pods that are evicted at once, as in the kubelet. */
export const AT_ONCE_SECONDS = 1;

const RESOURCES: Readonly<Record<EvictionSignal, StarvedResource>> = {
  'memory.available': 'memory',
  'nodefs.available': 'ephemeral-storage',
  'nodefs.inodesFree': 'inodes',
  'imagefs.available': 'ephemeral-storage',
  'imagefs.inodesFree': 'inodes',
  'containerfs.available': 'ephemeral-storage',
  'containerfs.inodesFree': 'inodes',
  'pid.available': 'pids',
  'allocatableMemory.available': 'memory',
};

/** The resource that a signal reports as short. */
export function resourceOf(signal: EvictionSignal): StarvedResource {
  return RESOURCES[signal];
}

/** Whether it is a resource of a disk. Pure. */
export function isAboutDisk(resource: StarvedResource): boolean {
  return resource === 'ephemeral-storage' || resource === 'inodes';
}

/** Hard ones first. Throws an Error with the wrong field and signal, and how to fix it. */
export function toEvictionRules({ hard, soft, softGraceMs, minimumReclaim }: WrittenRules): EvictionRule[] {
  const reclaims = new Map(
    readField('evictionMinimumReclaim', () => parseReclaims(minimumReclaim)).map(
      ({ signal, least }) => [signal, least] as const,
    ),
  );
  const reclaimOf = (signal: EvictionSignal): EvictionThreshold['least'] => reclaims.get(signal) ?? NOTHING;
  return [
    ...readField('evictionHard', () => parseThresholds(hard)).map((each) => ({
      ...{ ...each, isHard: true, graceMs: 0, reclaim: reclaimOf(each.signal) },
    })),
    ...readField('evictionSoft', () => parseThresholds(soft)).map((each) => {
      const graceMs = softGraceMs[each.signal];
      if (graceMs === undefined)
        throw new Error(`evictionSoftGracePeriod: has to say for how long ${each.signal} may hold`);
      return { ...each, isHard: false, graceMs, reclaim: reclaimOf(each.signal) };
    }),
  ];
}

function readField<Result>(field: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    throw new Error(`${field}: ${messageOf(error)}`, { cause: error });
  }
}

/** How much of the capacity has to be left until it is enough again after evictions. Pure. */
export function enoughOf(rule: EvictionRule, capacity: bigint): bigint {
  return leastOf(rule, capacity) + leastOf({ signal: rule.signal, least: rule.reclaim }, capacity);
}
