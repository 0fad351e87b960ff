/**
 * The page `/stats/summary`: the usage of the node, its pods, their containers and volumes, as one JSON
 * document.
 *
 * In: a snapshot of usage, and the sizes of disks. Out: text, written pod by pod. Any part may be missing and
 * is then left out, as in a kubelet.
 *
 * Source: https://kubernetes.io/docs/reference/instrumentation/node-metrics/#summary-api-source
 *
 * @module
 */
import { ANNOTATIONS } from '#watch';
import { SliceYielder } from '#base/async/slices.js';
import { type CpuWindows } from './cpu-windows.js';
import { logUse, usedOf } from './disk-usages.js';
import { type NodeUsage } from './node-usage.js';
import { type PodFilesUse } from './pod-files.js';
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
import { type VolumeUse } from './volume-usages.js';

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
  /** The folder of pods' logs; absolute. */
  readonly logsDir: string;
  readonly windows: CpuWindows;
  readonly volumesOf: (podUid: string) => Promise<readonly VolumeUse[]>;
  /** Counts the other files of a pod that its containers may write to. */
  readonly filesOf: (pod: LookedPod) => Promise<PodFilesUse>;
  /** The agent's own process. */
  readonly agent: { readonly startedAtMs: number; readonly cpuNs: number; readonly residentBytes: number };
}

/** Pods between two turns of the event loop. */
const PODS_PER_SLICE = 16;
const EMPTY_DIR = 'kubernetes.io~empty-dir';

/** Writes the page. */
export async function renderSummaryPage(scene: SummaryHarness, signal: AbortSignal): Promise<string> {
  const { look } = scene;
  const slices = new SliceYielder({ itemsPerSlice: PODS_PER_SLICE });
  const pods: string[] = [];
  for (const pod of look.pods) {
    pods.push(JSON.stringify(await toPodStats(pod, scene)));
    if (slices.isFull()) await slices.nextSlice();
    signal.throwIfAborted();
  }
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
}: SummaryHarness): Json {
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

async function toPodStats(pod: LookedPod, scene: SummaryHarness): Promise<Json> {
  const { uid, name, namespace, cpu, memory, io, network, processes, status } = pod;
  const volumes = await scene.volumesOf(uid);
  const containers = [];
  const files = await scene.filesOf(pod);
  let ephemeralBytes = [files.pod, ...files.containers.values()].reduce((sum, { bytes }) => sum + bytes, 0);
  for (const container of pod.containers) {
    const { json, usedBytes } = await toContainerStats(container, scene);
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
      scene.rootDisk && usedOf(scene.rootDisk, { usedBytes: ephemeralBytes, inodesUsed: undefined }),
    ),
    process_stats: processes === undefined ? undefined : { process_count: processes },
    swap: toSwapStats(swap),
  };
}

async function toContainerStats(
  container: LookedContainer,
  { containerDisk, logDisk, logsDir, windows }: SummaryHarness,
): Promise<{ readonly json: Json; readonly usedBytes: number }> {
  const { id, name, cpu, memory, swap, io, writableLayer, status } = container;
  const logs = await logUse(status?.logPath ?? '', logsDir, logDisk);
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
    logs: toFsStats(logs),
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
