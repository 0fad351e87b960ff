import { type CgroupLayout } from '../cgroups/cgroup-layout.js';

/** The limits of a container or pod. Undefined if unknown; zero for no limit. */
export interface UsageLimits {
  /** In microseconds, like its quota. */
  readonly cpuPeriod: bigint | undefined;
  readonly cpuQuota: bigint | undefined;
  /** In version 1's unit: 1024 by default, from 2 to 262144. */
  readonly cpuShares: bigint | undefined;
  readonly memoryBytes: bigint | undefined;
  readonly memoryAndSwapBytes: bigint | undefined;
}

/** Version 1 represents "no limit" by the highest number of pages that a long can count. */
export const UNLIMITED = 2n ** 62n;
const [MAX_SHARES, LEAST_SHARES] = [262_144n, 2n];
const [MAX_WEIGHT, LEAST_WEIGHT] = [10_000n, 1n];

/**
 * The limits of a group that are in force in the kernel, whatever was requested.
 *
 * Source: the kernel's documentation of cgroup-v1 (memory, CFS bandwidth) and cgroup-v2.
 */
export function readGroupLimits(layout: CgroupLayout, group: string): UsageLimits {
  return layout.version === 1 ? readV1(layout, group) : readV2(layout, group);
}

function readV1(layout: CgroupLayout, group: string): UsageLimits {
  const cpu = (file: string): string | undefined => layout.read('cpu', group, file)?.trim();
  const memory = (file: string): bigint | undefined =>
    toLimit(layout.read('memory', group, `memory.${file}`)?.trim());
  return {
    cpuPeriod: toNumber(cpu('cpu.cfs_period_us')),
    cpuQuota: toLimit(cpu('cpu.cfs_quota_us')),
    cpuShares: toNumber(cpu('cpu.shares')),
    memoryBytes: memory('limit_in_bytes'),
    memoryAndSwapBytes: memory('memsw.limit_in_bytes'),
  };
}

function readV2(layout: CgroupLayout, group: string): UsageLimits {
  const [quota, period] = layout.read('cpu', group, 'cpu.max')?.trim().split(' ') ?? [];
  const memory = (file: string): string | undefined => layout.read('memory', group, `memory.${file}`)?.trim();
  const memoryBytes = toLimit(memory('max'));
  return {
    cpuPeriod: toNumber(period),
    cpuQuota: toLimit(quota),
    cpuShares: toShares(toNumber(layout.read('cpu', group, 'cpu.weight')?.trim())),
    memoryBytes,
    memoryAndSwapBytes: addSwap(memoryBytes, memory('swap.max')),
  };
}

/**
 * The limit of memory and swap together, from the text of the swap limit. A missing text is unknown, not "no
 * limit".
 */
function addSwap(memoryBytes: bigint | undefined, swap: string | undefined): bigint | undefined {
  if (memoryBytes === undefined || swap === undefined) return undefined;
  return memoryBytes === 0n || swap === 'max' ? 0n : addNumber(memoryBytes, toNumber(swap));
}

function addNumber(one: bigint, other: bigint | undefined): bigint | undefined {
  return other === undefined ? undefined : one + other;
}

/**
 * Converts weights to version 1's shares like cAdvisor: linearly between the minimum and the maximum of both.
 */
function toShares(weight: bigint | undefined): bigint | undefined {
  if (weight === undefined || weight < LEAST_WEIGHT || weight > MAX_WEIGHT) return undefined;
  const range = MAX_SHARES - LEAST_SHARES;
  return LEAST_SHARES + ((weight - LEAST_WEIGHT) * range) / (MAX_WEIGHT - LEAST_WEIGHT);
}

function toNumber(text: string | undefined): bigint | undefined {
  return text !== undefined && /^\d+$/.test(text) ? BigInt(text) : undefined;
}

/** Returns zero for "no limit": `-1`, `max`, and version 1's highest number. */
function toLimit(text: string | undefined): bigint | undefined {
  if (text === 'max' || text === '-1') return 0n;
  const value = toNumber(text);
  return value !== undefined && value >= UNLIMITED ? 0n : value;
}
