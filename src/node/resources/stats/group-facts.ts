/**
 * The inputs of cAdvisor's metrics for one container, one pod or the node: from a readable cgroup or else the
 * runtime.
 *
 * @module
 */
import {
  type ContainerLimits,
  type ContainerUsage,
  type CpuUsage,
  type MemoryUsage,
  type SwapUsage,
} from '#watch';
import { type Clock } from '#base/time/clock.js';
import { type CgroupLayout } from '#base/proc/cgroups/cgroup-layout.js';
import { type ContainerFacts } from '#base/proc/usage/container-metrics.js';
import { readGroupLimits, type UsageLimits } from '#base/proc/usage/usage-limits.js';
import { type GroupUsage, readGroupUsage } from '#base/proc/usage/group-usage.js';
import { countOpenFiles, findOpenFileLimit } from '#base/proc/usage/process-usage.js';
import { type NodeUsage } from './node-usage.js';

/** One container or pod. */
export interface Measurable {
  readonly cpu: CpuUsage | undefined;
  readonly memory: MemoryUsage | undefined;
  readonly swap?: SwapUsage | undefined;
  readonly writableLayer?: ContainerUsage['writableLayer'];
}

/** Options for reading the facts of one group. */
export interface GroupReading {
  readonly layout: CgroupLayout;
  /** The group, if it is readable. */
  readonly group: string | undefined;
  /** The runtime's limits, for those that the group does not show. */
  readonly limits: ContainerLimits | undefined;
  /** Nanoseconds since the epoch; zero when unknown. */
  readonly startedAtNs: bigint;
  readonly clock: Pick<Clock, 'now'>;
  readonly disk: ContainerFacts['disk'];
  /** Whether the time for counting open files is over. */
  readonly isOver: () => boolean;
}

/** When each part of the facts was measured, in milliseconds since the epoch. */
export interface MeasuredAt {
  readonly cpu: number;
  readonly memory: number;
  readonly writable: number;
  /** What is read together with the group. */
  readonly rest: number;
}

/** Facts with their times: the runtime's may be some seconds older than those read directly. */
export interface TimedFacts {
  readonly facts: ContainerFacts;
  readonly atMs: MeasuredAt;
}

const NO_USAGE: GroupUsage = {
  ...{ cpu: undefined, memory: undefined, pids: undefined },
  ...{ io: [], hugepages: [], pressure: {} },
};

/** Reads the cgroup of one container or pod; reads its processes one by one if they are its own. */
export async function readFacts(measured: Measurable, reading: GroupReading): Promise<TimedFacts> {
  const { layout, group, limits, startedAtNs, clock, disk, isOver } = reading;
  const nowMs = clock.now();
  const own = group === undefined ? NO_USAGE : readGroupUsage(layout, group, 'metrics');
  const told = toGroupUsage(measured);
  const { cpu, memory, writableLayer } = measured;
  return {
    facts: {
      usage: { ...own, cpu: own.cpu ?? told.cpu, memory: own.memory ?? told.memory },
      limits: { ...toLimits(limits), ...(group === undefined ? {} : knownLimits(layout, group)) },
      ...(group === undefined ? NO_PROCESSES : await readProcesses(layout, group, isOver)),
      writable:
        writableLayer?.usedBytes === undefined ? undefined : { bytes: BigInt(writableLayer.usedBytes) },
      disk: writableLayer === undefined ? undefined : disk,
      startedAtNs: startedAtNs === 0n ? undefined : startedAtNs,
      seenAtNs: toNs(nowMs),
    },
    atMs: {
      cpu: own.cpu === undefined ? (cpu?.atMs ?? nowMs) : nowMs,
      memory: own.memory === undefined ? (memory?.atMs ?? nowMs) : nowMs,
      writable: writableLayer?.atMs ?? nowMs,
      rest: nowMs,
    },
  };
}

const NO_PROCESSES = { openFiles: undefined, openFileLimit: undefined, processes: undefined };

/**
 * What the processes directly in a group have open.
 *
 * A pid may be reused meanwhile, so a result counts only if the pid is still in the group.
 */
async function readProcesses(
  layout: CgroupLayout,
  group: string,
  isOver: () => boolean,
): Promise<Pick<ContainerFacts, keyof typeof NO_PROCESSES>> {
  const pids = pidsOf(layout, group);
  const [first] = pids;
  if (first === undefined) return NO_PROCESSES;
  const limit = findOpenFileLimit(first);
  let still: ReadonlySet<number> | undefined;
  const isStill = (pid: number): boolean => (still ??= new Set(pidsOf(layout, group))).has(pid);
  const openFiles = await countOpenFiles(pids, isOver, isStill);
  return { openFiles, openFileLimit: isStill(first) ? limit : undefined, processes: BigInt(pids.length) };
}

/** The processes directly in a group; none when it is gone. */
export function pidsOf(layout: CgroupLayout, group: string): number[] {
  const [tree] = layout.hierarchies;
  const text = tree && layout.io.read(`${tree.mountpoint}${group}/cgroup.procs`);
  return (text ?? '')
    .split('\n')
    .filter((line) => /^\d+$/.test(line))
    .map(Number);
}

/** The node as a group of all processes. */
export function nodeFacts(node: NodeUsage): TimedFacts {
  const { cpuTotalNs, memory, startedAtMs, atMs, pressure } = node;
  const measured: Measurable = {
    cpu: { atMs, totalNs: cpuTotalNs, nanoCores: undefined, pressure: undefined },
    memory: memory && { atMs, ...memory, pressure: undefined },
    swap: memory && { atMs, usageBytes: memory.swapUsageBytes, availableBytes: undefined },
  };
  const usage = toGroupUsage(measured);
  const more = {
    cacheBytes: toBigInt(memory?.cacheBytes),
    mappedFileBytes: toBigInt(memory?.mappedBytes),
    oomKills: toBigInt(memory?.oomKills),
  };
  return {
    facts: {
      ...NO_PROCESSES,
      usage: { ...usage, memory: usage.memory && { ...usage.memory, ...more }, pressure },
      limits: toLimits(undefined),
      ...{ writable: undefined, disk: undefined },
      startedAtNs: startedAtMs === undefined ? undefined : toNs(startedAtMs),
      seenAtNs: toNs(atMs),
    },
    atMs: { cpu: atMs, memory: atMs, writable: atMs, rest: atMs },
  };
}

function toGroupUsage({ cpu, memory, swap }: Measurable): GroupUsage {
  const unknown = {
    ...{ cacheBytes: undefined, activeFileBytes: undefined, inactiveFileBytes: undefined },
    ...{ mappedFileBytes: undefined, kernelBytes: undefined, limitBytes: undefined },
    ...{ swapLimitBytes: undefined, highestUsageBytes: undefined, limitHits: undefined, oomKills: undefined },
  };
  const noTimes = { userNs: undefined, systemNs: undefined };
  const noQuota = { periods: undefined, throttledPeriods: undefined, throttledNs: undefined };
  return {
    ...NO_USAGE,
    cpu: cpu?.totalNs === undefined ? undefined : { totalNs: BigInt(cpu.totalNs), ...noTimes, ...noQuota },
    memory: memory && {
      ...unknown,
      usageBytes: toBigInt(memory.usageBytes),
      workingSetBytes: toBigInt(memory.workingSetBytes),
      rssBytes: toBigInt(memory.rssBytes),
      pageFaults: toBigInt(memory.pageFaults),
      majorPageFaults: toBigInt(memory.majorPageFaults),
      swapBytes: toBigInt(swap?.usageBytes),
    },
  };
}

function toLimits(limits: ContainerLimits | undefined): UsageLimits {
  return {
    cpuPeriod: limits?.cpuPeriodUs,
    cpuQuota: limits?.cpuQuotaUs,
    cpuShares: limits?.cpuShares === 0n ? undefined : limits?.cpuShares,
    memoryBytes: limits?.memoryBytes,
    memoryAndSwapBytes: undefined,
  };
}

/** The limits that the group shows. */
function knownLimits(layout: CgroupLayout, group: string): Partial<UsageLimits> {
  const limits = Object.entries(readGroupLimits(layout, group)) as [keyof UsageLimits, bigint | undefined][];
  return Object.fromEntries(limits.filter(([, value]) => value !== undefined));
}

function toNs(atMs: number): bigint {
  return BigInt(Math.round(atMs)) * 1_000_000n;
}

function toBigInt(value: number | undefined): bigint | undefined {
  return value === undefined ? undefined : BigInt(Math.round(value));
}
