/**
 * Turns what was measured into the messages of CRI's statistics.
 *
 * @module
 */
import {
  type CpuUsage,
  type FilesystemUsage,
  type IoUsage,
  type MemoryUsage,
  type NetworkInterfaceUsage,
  type NetworkUsage,
  type ProcessUsage,
  type PsiData,
  type PsiStats,
  type SwapUsage,
  type UInt64Value,
} from '#watch/messages';
import { type CpuUse, type GroupUsage, type MemoryUse } from '#base/proc/usage/group-usage.js';
import { type InterfaceUsage } from '#base/proc/usage/network-usage.js';
import { type Pressure, type PressureLine } from '#base/proc/usage/pressure.js';

/** What a group uses, in those messages that a container and a pod have in common. */
export interface UsageMessages {
  readonly cpu: CpuUsage | undefined;
  readonly memory: MemoryUsage | undefined;
  readonly swap: SwapUsage | undefined;
  readonly io: IoUsage | undefined;
  readonly process: ProcessUsage | undefined;
}

/** What there is to say about something that does not run. */
export const NO_USAGE_MESSAGES: UsageMessages = {
  cpu: undefined,
  memory: undefined,
  swap: undefined,
  io: undefined,
  process: undefined,
};

/**
 * @param timestamp nanoseconds since the epoch at which it was measured.
 * @param usageNanoCores undefined when there is no window yet.
 */
export function toUsageMessages(
  { cpu, memory, pids, pressure }: GroupUsage,
  timestamp: bigint,
  usageNanoCores: bigint | undefined,
): UsageMessages {
  return {
    cpu: cpu && toCpuUsage(cpu, timestamp, usageNanoCores, pressure.cpu),
    memory: memory && toMemoryUsage(memory, timestamp, pressure.memory),
    swap: memory && toSwapUsage(memory, timestamp),
    io: pressure.io && { timestamp, psi: toPsi(pressure.io) },
    process: pids && { timestamp, processCount: { value: pids.threads } },
  };
}

function toCpuUsage(
  { totalNs }: CpuUse,
  timestamp: bigint,
  usageNanoCores: bigint | undefined,
  pressure: Pressure | undefined,
): CpuUsage {
  return {
    timestamp,
    usageCoreNanoSeconds: { value: totalNs },
    usageNanoCores: toValue(usageNanoCores),
    psi: toPsi(pressure),
  };
}

/** Without a limit nothing can be said about what is available. */
function toMemoryUsage(use: MemoryUse, timestamp: bigint, pressure: Pressure | undefined): MemoryUsage {
  const { workingSetBytes, limitBytes } = use;
  return {
    timestamp,
    workingSetBytes: toValue(workingSetBytes),
    availableBytes: toValue(
      limitBytes === undefined || workingSetBytes === undefined
        ? undefined
        : remainder(limitBytes, workingSetBytes),
    ),
    usageBytes: toValue(use.usageBytes),
    rssBytes: toValue(use.rssBytes),
    pageFaults: toValue(use.pageFaults),
    majorPageFaults: toValue(use.majorPageFaults),
    psi: toPsi(pressure),
  };
}

function toSwapUsage({ swapBytes, swapLimitBytes }: MemoryUse, timestamp: bigint): SwapUsage | undefined {
  if (swapBytes === undefined) return undefined;
  const available = swapLimitBytes === undefined ? undefined : remainder(swapLimitBytes, swapBytes);
  return { timestamp, swapUsageBytes: { value: swapBytes }, swapAvailableBytes: toValue(available) };
}

/** A pod's interfaces; the default one is eth0, else the first. Undefined without any. */
export function toNetworkUsage(
  interfaces: readonly InterfaceUsage[],
  timestamp: bigint,
): NetworkUsage | undefined {
  const usages = interfaces.map(toInterfaceUsage);
  const first = usages.find(({ name }) => name === 'eth0') ?? usages[0];
  if (first === undefined) return undefined;
  return { timestamp, defaultInterface: first, interfaces: usages.filter((each) => each !== first) };
}

function toInterfaceUsage({ name, received, sent }: InterfaceUsage): NetworkInterfaceUsage {
  return {
    name,
    rxBytes: { value: received.bytes },
    rxErrors: toValue(received.errors),
    txBytes: { value: sent.bytes },
    txErrors: toValue(sent.errors),
  };
}

/** What a folder takes on the disk, as measured at some time in the last seconds. */
export interface WritableUsage {
  readonly path: string;
  readonly bytes: bigint;
  readonly inodes: bigint;
  readonly measuredAtMs: number;
}

/** @param rootDir named where the container has no folder of its own to write to. */
export function toFilesystemUsage(usage: WritableUsage, rootDir: string): FilesystemUsage {
  return {
    timestamp: BigInt(Math.round(usage.measuredAtMs)) * 1_000_000n,
    fsId: { mountpoint: usage.path === '' ? rootDir : usage.path },
    usedBytes: { value: usage.bytes },
    inodesUsed: { value: usage.inodes },
  };
}

function toPsi(pressure: Pressure | undefined): PsiStats | undefined {
  return pressure && { Full: toPsiData(pressure.full), Some: toPsiData(pressure.some) };
}

/** CRI counts the total in nanoseconds. */
function toPsiData({ avg10, avg60, avg300, totalUs }: PressureLine): PsiData {
  return { Total: totalUs * 1000n, Avg10: avg10, Avg60: avg60, Avg300: avg300 };
}

function toValue(value: bigint | undefined): UInt64Value | undefined {
  return value === undefined ? undefined : { value };
}

function remainder(limit: bigint, used: bigint): bigint {
  return limit > used ? limit - used : 0n;
}
