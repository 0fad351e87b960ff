/**
 * Converts CRI's messages about usage to {@link PodUsage}. Pure; never throws when a message lacks something.
 *
 * @module
 */
import { type cri } from '../cri/index.js';
import { sumIfKnown } from '#base/text/sum-if-known.js';

import { LABELS } from './labels.js';
import {
  type ContainerUsage,
  type CpuUsage,
  type FilesystemUsage,
  type InterfaceUsage,
  type IoUsage,
  type MemoryUsage,
  type NetworkUsage,
  type PodUsage,
  type Pressure,
  type PressureShare,
  type SwapUsage,
} from './pod-usage.js';

/** From CRI's PodSandboxStats. */
export function toPodUsage({ attributes, linux }: cri.PodSandboxStats): PodUsage {
  const { id = '', metadata, labels = {} } = attributes ?? {};
  return {
    uid: firstOf(labels[LABELS.podUid], metadata?.uid, id),
    namespace: firstOf(labels[LABELS.podNamespace], metadata?.namespace),
    name: firstOf(labels[LABELS.podName], metadata?.name),
    sandboxId: id,
    attempt: metadata?.attempt ?? 0,
    cpu: toCpuUsage(linux?.cpu),
    memory: toMemoryUsage(linux?.memory),
    io: toIoUsage(linux?.io),
    network: toNetworkUsage(linux?.network),
    processes: toNumber(linux?.process?.processCount),
    containers: (linux?.containers ?? []).map(toContainerUsage),
  };
}

/** From CRI's ContainerStats. */
function toContainerUsage(stats: cri.ContainerStats): ContainerUsage {
  const { id = '', metadata, labels = {} } = stats.attributes ?? {};
  return {
    id,
    name: firstOf(labels[LABELS.containerName], metadata?.name),
    attempt: metadata?.attempt ?? 0,
    cpu: toCpuUsage(stats.cpu),
    memory: toMemoryUsage(stats.memory),
    swap: toSwapUsage(stats.swap),
    io: toIoUsage(stats.io),
    writableLayer: toFilesystemUsage(stats.writableLayer),
  };
}

/**
 * Groups containers into pods, for a runtime that only reports containers: each pod is the sum of its
 * reported containers. Containers without the labels of a pod are left out.
 */
export function groupByPod(listed: readonly cri.ContainerStats[]): PodUsage[] {
  const pods = new Map<
    string,
    { readonly labels: cri.ContainerStats; readonly containers: ContainerUsage[] }
  >();
  for (const stats of listed) {
    const uid = stats.attributes?.labels[LABELS.podUid] ?? '';
    if (uid === '') continue;
    const pod = pods.get(uid) ?? { labels: stats, containers: [] };
    pods.set(uid, pod);
    pod.containers.push(toContainerUsage(stats));
  }
  return [...pods].map(([uid, { labels, containers }]) => ({
    uid,
    namespace: labels.attributes?.labels[LABELS.podNamespace] ?? '',
    name: labels.attributes?.labels[LABELS.podName] ?? '',
    sandboxId: '',
    attempt: 0,
    cpu: sumCpu(containers),
    memory: sumMemory(containers),
    io: undefined,
    network: undefined,
    processes: undefined,
    containers,
  }));
}

/** From CRI's FilesystemUsage. */
export function toFilesystemUsage(usage: cri.FilesystemUsage | undefined): FilesystemUsage | undefined {
  if (usage === undefined) return undefined;
  return {
    atMs: toMs(usage.timestamp),
    mountpoint: usage.fsId?.mountpoint ?? '',
    usedBytes: toNumber(usage.usedBytes),
    inodesUsed: toNumber(usage.inodesUsed),
  };
}

function toCpuUsage(cpu: cri.CpuUsage | undefined): CpuUsage | undefined {
  if (cpu === undefined) return undefined;
  return {
    atMs: toMs(cpu.timestamp),
    totalNs: toNumber(cpu.usageCoreNanoSeconds),
    nanoCores: toNumber(cpu.usageNanoCores),
    pressure: toPressure(cpu.psi),
  };
}

function toMemoryUsage(memory: cri.MemoryUsage | undefined): MemoryUsage | undefined {
  if (memory === undefined) return undefined;
  return {
    atMs: toMs(memory.timestamp),
    workingSetBytes: toNumber(memory.workingSetBytes),
    usageBytes: toNumber(memory.usageBytes),
    availableBytes: toLimited(memory.availableBytes),
    rssBytes: toNumber(memory.rssBytes),
    pageFaults: toNumber(memory.pageFaults),
    majorPageFaults: toNumber(memory.majorPageFaults),
    pressure: toPressure(memory.psi),
  };
}

function toSwapUsage(swap: cri.SwapUsage | undefined): SwapUsage | undefined {
  if (swap === undefined) return undefined;
  return {
    atMs: toMs(swap.timestamp),
    usageBytes: toNumber(swap.swapUsageBytes),
    availableBytes: toLimited(swap.swapAvailableBytes),
  };
}

function toIoUsage(io: cri.IoUsage | undefined): IoUsage | undefined {
  return io && { atMs: toMs(io.timestamp), pressure: toPressure(io.psi) };
}

function toNetworkUsage(network: cri.NetworkUsage | undefined): NetworkUsage | undefined {
  if (network === undefined) return undefined;
  const first = network.defaultInterface;
  const others = network.interfaces.filter(({ name }) => name !== first?.name);
  const interfaces = first === undefined ? others : [first, ...others];
  return { atMs: toMs(network.timestamp), interfaces: interfaces.map(toInterfaceUsage) };
}

function toInterfaceUsage(usage: cri.NetworkInterfaceUsage): InterfaceUsage {
  return {
    name: usage.name,
    rxBytes: toNumber(usage.rxBytes),
    rxErrors: toNumber(usage.rxErrors),
    txBytes: toNumber(usage.txBytes),
    txErrors: toNumber(usage.txErrors),
  };
}

function toPressure(psi: cri.PsiStats | undefined): Pressure | undefined {
  if (psi?.Some === undefined) return undefined;
  const none: PressureShare = { avg10: 0, avg60: 0, avg300: 0, totalNs: 0 };
  return { some: toShare(psi.Some), full: psi.Full === undefined ? none : toShare(psi.Full) };
}

function toShare({ Avg10, Avg60, Avg300, Total }: cri.PsiData): PressureShare {
  return { avg10: Avg10, avg60: Avg60, avg300: Avg300, totalNs: Number(Total) };
}

function sumCpu(containers: readonly ContainerUsage[]): CpuUsage | undefined {
  const parts = containers.flatMap(({ cpu }) => cpu ?? []);
  if (parts.length === 0) return undefined;
  return {
    atMs: Math.max(...parts.map(({ atMs }) => atMs)),
    totalNs: sumIfKnown(parts.map(({ totalNs }) => totalNs)),
    nanoCores: sumIfKnown(parts.map(({ nanoCores }) => nanoCores)),
    pressure: undefined,
  };
}

function sumMemory(containers: readonly ContainerUsage[]): MemoryUsage | undefined {
  const parts = containers.flatMap(({ memory }) => memory ?? []);
  if (parts.length === 0) return undefined;
  const sum = (field: Exclude<keyof MemoryUsage, 'atMs' | 'pressure'>): number | undefined =>
    sumIfKnown(parts.map((part) => part[field]));
  return {
    atMs: Math.max(...parts.map(({ atMs }) => atMs)),
    workingSetBytes: sum('workingSetBytes'),
    usageBytes: sum('usageBytes'),
    availableBytes: sum('availableBytes'),
    rssBytes: sum('rssBytes'),
    pageFaults: sum('pageFaults'),
    majorPageFaults: sum('majorPageFaults'),
    pressure: undefined,
  };
}

function firstOf(...texts: readonly (string | undefined)[]): string {
  return texts.find((text) => text !== undefined && text !== '') ?? '';
}

function toNumber(value: cri.UInt64Value | undefined): number | undefined {
  return value && Number(value.value);
}

/**
 * Runtimes that encode "no limit" as a huge number report the rest of it as available; no machine has that
 * much.
 */
const NO_LIMIT = 2 ** 60;

function toLimited(value: cri.UInt64Value | undefined): number | undefined {
  const bytes = toNumber(value);
  return bytes === undefined || bytes >= NO_LIMIT ? undefined : bytes;
}

function toMs(ns: bigint): number {
  return Number(ns / 1_000_000n);
}
