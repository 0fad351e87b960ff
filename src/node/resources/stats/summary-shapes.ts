/**
 * The parts of a Summary, in the JSON of the kubelet's stats API v1alpha1. Unknown values are left out, as
 * there.
 *
 * Source: https://pkg.go.dev/k8s.io/kubelet/pkg/apis/stats/v1alpha1
 *
 * @module
 */
import {
  type CpuUsage,
  type InterfaceUsage,
  type IoUsage,
  type MemoryUsage,
  type Pressure,
  type PressureShare,
  type SwapUsage,
} from '#watch';
import { type Pressure as KernelPressure } from '#base/proc/usage/pressure.js';

/** Any object of the answer: undefined fields are not written. */
export type Json = Readonly<Record<string, unknown>>;

/** The size of a file system, and one user's usage of it. */
export interface DiskUse {
  readonly atMs: number;
  readonly capacityBytes?: number | undefined;
  readonly availableBytes?: number | undefined;
  readonly usedBytes?: number | undefined;
  readonly inodes?: number | undefined;
  readonly inodesFree?: number | undefined;
  readonly inodesUsed?: number | undefined;
}

/** CPUStats; `nanoCores` if the usage does not have its own. */
export function toCpuStats(cpu: CpuUsage | undefined, nanoCores?: number): Json | undefined {
  if (cpu === undefined) return undefined;
  return {
    time: toTime(cpu.atMs),
    usageNanoCores: cpu.nanoCores ?? nanoCores,
    usageCoreNanoSeconds: cpu.totalNs,
    psi: toPsi(cpu.pressure),
  };
}

/** MemoryStats. */
export function toMemoryStats(memory: MemoryUsage | undefined): Json | undefined {
  if (memory === undefined) return undefined;
  const {
    atMs,
    pressure,
    availableBytes,
    usageBytes,
    workingSetBytes,
    rssBytes,
    pageFaults,
    majorPageFaults,
  } = memory;
  return {
    ...{
      time: toTime(atMs),
      availableBytes,
      usageBytes,
      workingSetBytes,
      rssBytes,
      pageFaults,
      majorPageFaults,
    },
    psi: toPsi(pressure),
  };
}

/** SwapStats. */
export function toSwapStats(swap: SwapUsage | undefined): Json | undefined {
  if (swap === undefined) return undefined;
  return {
    time: toTime(swap.atMs),
    swapAvailableBytes: swap.availableBytes,
    swapUsageBytes: swap.usageBytes,
  };
}

/** IOStats. */
export function toIoStats(io: IoUsage | undefined): Json | undefined {
  return io?.pressure === undefined ? undefined : { time: toTime(io.atMs), psi: toPsi(io.pressure) };
}

/** NetworkStats: the default interface by itself and among all. */
export function toNetworkStats(atMs: number, interfaces: readonly InterfaceUsage[]): Json | undefined {
  const [first] = interfaces;
  return first === undefined
    ? undefined
    : { time: toTime(atMs), ...toInterface(first), interfaces: interfaces.map(toInterface) };
}

/** FsStats. */
export function toFsStats(disk: DiskUse | undefined): Json | undefined {
  if (disk === undefined) return undefined;
  const { atMs, ...rest } = disk;
  return { time: toTime(atMs), ...rest };
}

/** The sum of swap over containers; undefined if none reports it. */
export function sumSwap(swaps: readonly SwapUsage[]): SwapUsage | undefined {
  if (swaps.length === 0) return undefined;
  const usageBytes = swaps.reduce((sum, swap) => sum + (swap.usageBytes ?? 0), 0);
  const isLimited = swaps.every(({ availableBytes }) => availableBytes !== undefined);
  const availableBytes = swaps.reduce((sum, swap) => sum + (swap.availableBytes ?? 0), 0);
  return {
    atMs: Math.max(...swaps.map(({ atMs }) => atMs)),
    usageBytes,
    availableBytes: isLimited ? availableBytes : undefined,
  };
}

/** A time in the form of Kubernetes' API, in whole seconds. */
export function toTime(atMs: number): string {
  return new Date(atMs).toISOString().replace(/\.\d+Z$/, 'Z');
}

function toInterface({ name, rxBytes, rxErrors, txBytes, txErrors }: InterfaceUsage): Json {
  return { name, rxBytes, rxErrors, txBytes, txErrors };
}

/** Pressure as the runtime's statistics have it. */
export function toPressure(pressure: KernelPressure | undefined): Pressure | undefined {
  const toNs = ({ totalUs, ...shares }: KernelPressure['some']): PressureShare => ({
    ...shares,
    totalNs: Number(totalUs) * 1_000,
  });
  return pressure && { some: toNs(pressure.some), full: toNs(pressure.full) };
}

function toPsi(pressure: Pressure | undefined): Json | undefined {
  return pressure && { full: toShare(pressure.full), some: toShare(pressure.some) };
}

function toShare({ totalNs, avg10, avg60, avg300 }: PressureShare): Json {
  return { total: totalNs, avg10, avg60, avg300 };
}
