/**
 * The page `/stats/summary`: the usage of the node, its pods, their containers and volumes, as one JSON
 * document.
 *
 * In: a snapshot of usage, and the sizes of disks. Out: text, written pod by pod. Any part may be missing and
 * is then left out, as in a kubelet; each part has the time at which it was measured.
 *
 * Source: https://kubernetes.io/docs/reference/instrumentation/node-metrics/#summary-api-source
 *
 * @module
 */
import { ANNOTATIONS } from '#watch';
import { SliceYielder } from '#base/async/slices.js';
import { type CpuWindows } from './cpu-windows.js';
import { usedOf } from './disk-usages.js';
import { type NodeUsage } from './node-usage.js';
import { type PodDiskUse } from './pod-disks.js';
import {
  type DiskUse,
  type Json,
  sumSwap,
  toCpuStats,
  toFsStats,
  toIoStats,
  toMemoryStats,
  toNetworkStats,
  toPressure,
  toSwapStats,
  toTime,
} from './summary-shapes.js';
import { type LookedContainer, type LookedPod, type UsageLook } from './usage-looks.js';

/** Inputs of {@link renderSummaryPage}. */
export interface SummaryHarness {
  readonly look: UsageLook;
  readonly nodeName: string;
  /** The disk of the agent's root folder, which has pods' volumes. */
  readonly rootDisk: DiskUse | undefined;
  readonly imageDisk: DiskUse | undefined;
  /** The disk of writable layers. */
  readonly containerDisk: DiskUse | undefined;
  readonly logDisk: DiskUse | undefined;
  readonly windows: CpuWindows;
  /** By the uid of the pod, as far as known. */
  readonly podDisks: ReadonlyMap<string, PodDiskUse>;
  /** The agent's own process. */
  readonly agent: { readonly startedAtMs: number; readonly cpuNs: number; readonly residentBytes: number };
}

type PodScene = Omit<SummaryHarness, 'nodeName' | 'agent'>;
type NodeScene = Omit<SummaryHarness, 'podDisks' | 'logDisk'>;

/** Pods between two turns of the event loop. */
const PODS_PER_SLICE = 16;
const EMPTY_DIR = 'kubernetes.io~empty-dir';

/** Writes the part of each pod. */
export async function renderPods(scene: PodScene, signal: AbortSignal): Promise<string[]> {
  const slices = new SliceYielder({ itemsPerSlice: PODS_PER_SLICE });
  const pods: string[] = [];
  for (const pod of scene.look.pods) {
    pods.push(JSON.stringify(toPodStats(pod, scene)));
    if (slices.isFull()) await slices.nextSlice();
    signal.throwIfAborted();
  }
  return pods;
}

/** Writes the page, of pods that were written before. */
export function renderSummaryPage(scene: NodeScene, pods: readonly string[]): string {
  return `{"node":${JSON.stringify(toNodeStats(scene))},"pods":[${pods.join(',')}]}\n`;
}

function toNodeStats({
  look,
  nodeName,
  rootDisk,
  imageDisk,
  containerDisk,
  windows,
  agent,
}: NodeScene): Json {
  const { node } = look;
  const { atMs, startedAtMs = 0, memory, interfaces, tasks, taskLimit } = node;
  return {
    nodeName,
    systemContainers: [agentStats(agent, atMs, windows)],
    startTime: toTime(startedAtMs),
    cpu: nodeCpu(node, windows),
    memory: toMemoryStats(memory && { atMs, ...memory, pressure: toPressure(node.pressure.memory) }),
    io: toIoStats({ atMs, pressure: toPressure(node.pressure.io) }),
    network: toNetworkStats(atMs, interfaces),
    fs: toFsStats(rootDisk),
    runtime: { imageFs: toFsStats(imageDisk), containerFs: toFsStats(containerDisk) },
    rlimit: { time: toTime(atMs), maxpid: taskLimit, curproc: tasks },
    swap: toSwapStats(
      memory && {
        ...{ atMs, usageBytes: memory.swapUsageBytes },
        availableBytes: memory.swapBytes - memory.swapUsageBytes,
      },
    ),
  };
}

function nodeCpu(
  { atMs, cpuTotalNs, startedAtMs, pressure }: NodeUsage,
  windows: CpuWindows,
): Json | undefined {
  if (cpuTotalNs === undefined) return undefined;
  const nanoCores = windows.rate('node', cpuTotalNs, atMs - (startedAtMs ?? atMs));
  return toCpuStats({ atMs, totalNs: cpuTotalNs, nanoCores, pressure: toPressure(pressure.cpu) });
}

/** A kubelet's clients look for its own process under this name. */
function agentStats(agent: SummaryHarness['agent'], atMs: number, windows: CpuWindows): Json {
  const nanoCores = windows.rate('agent', agent.cpuNs, atMs - agent.startedAtMs);
  return {
    name: 'kubelet',
    startTime: toTime(agent.startedAtMs),
    cpu: toCpuStats({ atMs, totalNs: agent.cpuNs, nanoCores, pressure: undefined }),
    memory: {
      time: toTime(atMs),
      usageBytes: agent.residentBytes,
      workingSetBytes: agent.residentBytes,
      rssBytes: agent.residentBytes,
    },
  };
}

function toPodStats(pod: LookedPod, scene: PodScene): Json {
  const { uid, name, namespace, cpu, memory, io, network, processes, status } = pod;
  const measured = scene.podDisks.get(uid);
  const volumes = measured?.volumes ?? [];
  const containers = [];
  let ephemeralBytes = 0;
  if (measured !== undefined) {
    const { files } = measured;
    for (const { bytes } of [files.pod, ...files.containers.values()]) ephemeralBytes += bytes;
  }
  for (const container of pod.containers) {
    const { json, usedBytes } = toContainerStats(container, measured, scene);
    containers.push(json);
    ephemeralBytes += usedBytes;
  }
  for (const { plugin, disk, isApart } of volumes) {
    if (plugin === EMPTY_DIR && !isApart) ephemeralBytes += disk.usedBytes ?? 0;
  }
  const swap = sumSwap(pod.containers.flatMap((container) => container.swap ?? []));
  return {
    podRef: { name, namespace, uid },
    startTime: startOf(status.sandboxes.find(({ id }) => id === pod.sandboxId)),
    containers,
    cpu: toCpuStats(cpu, rateOf(pod.sandboxId, cpu?.totalNs, scene.windows)),
    memory: toMemoryStats(memory),
    io: toIoStats(io),
    network: network && toNetworkStats(network.atMs, network.interfaces),
    volume:
      volumes.length === 0
        ? undefined
        : volumes.map(({ disk, name, claim }) => ({ ...toFsStats(disk), name, pvcRef: claim })),
    'ephemeral-storage': toFsStats(
      scene.rootDisk && measured
        ? usedOf(scene.rootDisk, { atMs: measured.atMs, usedBytes: ephemeralBytes, inodesUsed: undefined })
        : undefined,
    ),
    process_stats: processes === undefined ? undefined : { process_count: processes },
    swap: toSwapStats(swap),
  };
}

function toContainerStats(
  container: LookedContainer,
  measured: PodDiskUse | undefined,
  { containerDisk, logDisk, windows }: PodScene,
): { readonly json: Json; readonly usedBytes: number } {
  const { id, name, cpu, memory, swap, io, writableLayer, status } = container;
  const logs = measured?.logs.get(id);
  const json = {
    name,
    startTime:
      status === undefined || status.startedAtNs === 0n
        ? undefined
        : toTime(Number(status.startedAtNs / 1_000_000n)),
    cpu: toCpuStats(cpu, rateOf(id, cpu?.totalNs, windows)),
    memory: toMemoryStats(memory),
    io: toIoStats(io),
    rootfs: toFsStats(writableLayer && usedOf(containerDisk, writableLayer)),
    logs: toFsStats(logs && usedOf(logDisk, { ...logs, atMs: measured?.atMs ?? 0 })),
    swap: toSwapStats(swap),
  };
  return { json, usedBytes: (writableLayer?.usedBytes ?? 0) + (logs?.usedBytes ?? 0) };
}

/** Since when the pod is on this node, over all its sandboxes, if the newest has that. */
function startOf(sandbox: LookedPod['status']['sandboxes'][number] | undefined): string | undefined {
  if (sandbox === undefined) return undefined;
  return sandbox.annotations[ANNOTATIONS.podStartTime] ?? toTime(Number(sandbox.createdAtNs / 1_000_000n));
}

function rateOf(key: string, totalNs: number | undefined, windows: CpuWindows): number | undefined {
  return totalNs === undefined || key === '' ? undefined : windows.rate(key, totalNs, undefined);
}
