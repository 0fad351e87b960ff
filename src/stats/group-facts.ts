/**
 * What cAdvisor's metrics are made of, for one container, one pod or the node: read from its cgroup where there is one
 * to be read, else from what the runtime has told.
 *
 * @module
 */
import {
  type ContainerUsage,
  type CpuUsage,
  type MemoryUsage,
  type SwapUsage,
} from '../runtime/pod-usage.js';
import { type ContainerLimits } from '../runtime/runtime.js';
import { type CgroupLayout } from '../util/cgroups/cgroup-layout.js';
import { type ContainerFacts } from '../util/usage/container-metrics.js';
import { type GroupUsage, readGroupUsage } from '../util/usage/group-usage.js';
import { countOpenFiles, findOpenFileLimit } from '../util/usage/process-usage.js';
import { type NodeUsage } from './node-usage.js';

/** Of one container or pod. */
export interface Measurable {
  readonly cpu: CpuUsage | undefined;
  readonly memory: MemoryUsage | undefined;
  readonly swap?: SwapUsage | undefined;
  readonly writableLayer?: ContainerUsage['writableLayer'];
}

/** What the facts of one group are read with. */
export interface GroupReading {
  readonly layout: CgroupLayout;
  /** Where there is one to be read. */
  readonly group: string | undefined;
  readonly limits: ContainerLimits | undefined;
  readonly startedAtNs: bigint;
  readonly seenAtMs: number;
  readonly disk: ContainerFacts['disk'];
  /** Whether the time for looking at open files is over. */
  readonly isOver: () => boolean;
}

const NO_USAGE: GroupUsage = {
  ...{ cpu: undefined, memory: undefined, pids: undefined },
  ...{ io: [], hugepages: [], pressure: {} },
};

/** Reads the cgroup of one container or pod; its processes are looked at one by one where they are its own. */
export async function readFacts(measured: Measurable, reading: GroupReading): Promise<ContainerFacts> {
  const { layout, group, limits, startedAtNs, seenAtMs, disk, isOver } = reading;
  const own = group === undefined ? NO_USAGE : readGroupUsage(layout, group, 'metrics');
  const told = toGroupUsage(measured);
  const pids = group === undefined ? [] : pidsOf(layout, group);
  const { usedBytes, inodesUsed } = measured.writableLayer ?? {};
  return {
    usage: { ...own, cpu: own.cpu ?? told.cpu, memory: own.memory ?? told.memory },
    limits: toLimits(limits),
    openFiles: pids.length === 0 ? undefined : await countOpenFiles(pids, isOver),
    openFileLimit: pids[0] === undefined ? undefined : await findOpenFileLimit(pids[0]),
    processes: pids.length === 0 ? undefined : BigInt(pids.length),
    writable:
      usedBytes === undefined ? undefined : { bytes: BigInt(usedBytes), inodes: BigInt(inodesUsed ?? 0) },
    disk: measured.writableLayer === undefined ? undefined : disk,
    startedAtNs,
    seenAtNs: BigInt(Math.round(seenAtMs)) * 1_000_000n,
  };
}

/** The processes right in a group; none when it is gone. */
export function pidsOf(layout: CgroupLayout, group: string): number[] {
  const [tree] = layout.hierarchies;
  const text = tree && layout.io.read(`${tree.mountpoint}${group}/cgroup.procs`);
  return (text ?? '')
    .split('\n')
    .filter((line) => /^\d+$/.test(line))
    .map(Number);
}

/** The node as a group of all processes. */
export function nodeFacts(node: NodeUsage): ContainerFacts {
  const { cpuTotalNs, memory, startedAtMs = 0, atMs } = node;
  const measured: Measurable = {
    cpu: { atMs, totalNs: cpuTotalNs, nanoCores: undefined, pressure: undefined },
    memory: memory && { atMs, ...memory, pressure: undefined },
    swap: memory && { atMs, usageBytes: memory.swapUsageBytes, availableBytes: undefined },
  };
  const usage = toGroupUsage(measured);
  const [cacheBytes, mappedFileBytes] = [toBigInt(memory?.cacheBytes), toBigInt(memory?.mappedBytes)];
  return {
    usage: { ...usage, memory: usage.memory && { ...usage.memory, cacheBytes, mappedFileBytes } },
    limits: toLimits(undefined),
    ...{ openFiles: undefined, openFileLimit: undefined, writable: undefined, disk: undefined },
    processes: undefined,
    startedAtNs: BigInt(startedAtMs) * 1_000_000n,
    seenAtNs: BigInt(Math.round(atMs)) * 1_000_000n,
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
      usageBytes: toBigInt(memory.usageBytes ?? memory.workingSetBytes) ?? 0n,
      workingSetBytes: toBigInt(memory.workingSetBytes ?? memory.usageBytes) ?? 0n,
      rssBytes: toBigInt(memory.rssBytes) ?? 0n,
      pageFaults: toBigInt(memory.pageFaults),
      majorPageFaults: toBigInt(memory.majorPageFaults),
      swapBytes: toBigInt(swap?.usageBytes),
    },
  };
}

function toLimits(limits: ContainerLimits | undefined): ContainerFacts['limits'] {
  return {
    cpuPeriod: limits?.cpuPeriodUs ?? 0n,
    cpuQuota: limits?.cpuQuotaUs ?? 0n,
    cpuShares: limits?.cpuShares ?? 0n,
    memoryBytes: limits?.memoryBytes ?? 0n,
    memoryAndSwapBytes: 0n,
  };
}

function toBigInt(value: number | undefined): bigint | undefined {
  return value === undefined ? undefined : BigInt(Math.round(value));
}
