/**
 * What a configuration says about eviction, put together: which thresholds, for how long too little has to be left, and
 * how much more is to be free again.
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

/** A threshold with what is done about it. */
export interface EvictionRule extends EvictionThreshold {
  /** Pods get one second to end, and nobody waits for a grace period. */
  readonly isHard: boolean;
  /** For so long too little has to be left; 0 of a hard one. */
  readonly graceMs: number;
  /** By how much more than the threshold has to be free before it is enough again. */
  readonly reclaim: EvictionThreshold['least'];
}

/** As written; the grace periods in milliseconds. */
export interface WrittenRules {
  readonly hard: WrittenThresholds;
  readonly soft: WrittenThresholds;
  readonly softGraceMs: Readonly<Record<string, number>>;
  readonly minimumReclaim: WrittenThresholds;
}

const NOTHING = { amount: 0n };

/** So long pods get to end that are evicted at once, as a kubelet's. */
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
};

/** Of which there is too little when that signal says so. */
export function resourceOf(signal: EvictionSignal): StarvedResource {
  return RESOURCES[signal];
}

/** Whether it is something of a disk. Pure. */
export function isAboutDisk(resource: StarvedResource): boolean {
  return resource === 'ephemeral-storage' || resource === 'inodes';
}

/** Hard ones first. Throws an Error that says which field and signal is wrong, and what would be right. */
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

/** How much has to be left, of so much in all, for it to be enough again after pods were evicted. Pure. */
export function enoughOf(rule: EvictionRule, capacity: bigint): bigint {
  return leastOf(rule, capacity) + leastOf({ signal: rule.signal, least: rule.reclaim }, capacity);
}
