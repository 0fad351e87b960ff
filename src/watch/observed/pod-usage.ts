/**
 * What pods and containers use, as a runtime tells it.
 *
 * Amounts are doubles: they hold bytes exactly up to 8 PiB, and the CPU time of a century to within a microsecond.
 * What a runtime does not tell is undefined, and never 0.
 *
 * @module
 */
import { type PodRef } from '#kube/pod/pod-ref.js';

/** CPU time of a pod or container. */
export interface CpuUsage {
  /** Milliseconds since the epoch at which the runtime measured it. */
  readonly atMs: number;
  /** Since it was made, over all cores. */
  readonly totalNs: number | undefined;
  /** Nanoseconds of CPU time a second, over a window that the runtime chose. */
  readonly nanoCores: number | undefined;
  readonly pressure: Pressure | undefined;
}

/** Memory of a pod or container, in bytes. */
export interface MemoryUsage {
  readonly atMs: number;
  /** What the kernel cannot give back at once. */
  readonly workingSetBytes: number | undefined;
  readonly usageBytes: number | undefined;
  /** Up to the limit; undefined without one. */
  readonly availableBytes: number | undefined;
  readonly rssBytes: number | undefined;
  readonly pageFaults: number | undefined;
  readonly majorPageFaults: number | undefined;
  readonly pressure: Pressure | undefined;
}

/** Swap of a pod or container. */
export interface SwapUsage {
  readonly atMs: number;
  readonly usageBytes: number | undefined;
  /** Up to the limit; undefined without one. */
  readonly availableBytes: number | undefined;
}

/** Waiting for devices. */
export interface IoUsage {
  readonly atMs: number;
  readonly pressure: Pressure | undefined;
}

/** How long processes waited for a resource: at least one of them, and all at the same time. */
export interface Pressure {
  readonly some: PressureShare;
  readonly full: PressureShare;
}

/** Shares of the time in percent over the last 10, 60 and 300 seconds, and the total in nanoseconds. */
export interface PressureShare {
  readonly avg10: number;
  readonly avg60: number;
  readonly avg300: number;
  readonly totalNs: number;
}

/** Counters of one network interface. */
export interface InterfaceUsage {
  readonly name: string;
  readonly rxBytes: number | undefined;
  readonly rxErrors: number | undefined;
  readonly txBytes: number | undefined;
  readonly txErrors: number | undefined;
}

/** A pod's own network; a pod on the host's has none. */
export interface NetworkUsage {
  readonly atMs: number;
  /** The default one first. */
  readonly interfaces: readonly InterfaceUsage[];
}

/** What is written below some folder. */
export interface FilesystemUsage {
  readonly atMs: number;
  /** Where the file system is mounted, or the folder itself. */
  readonly mountpoint: string;
  readonly usedBytes: number | undefined;
  readonly inodesUsed: number | undefined;
}

/** What one container uses. One that does not run has neither CPU nor memory. */
export interface ContainerUsage {
  readonly id: string;
  /** In its pod; may be empty. */
  readonly name: string;
  readonly attempt: number;
  readonly cpu: CpuUsage | undefined;
  readonly memory: MemoryUsage | undefined;
  readonly swap: SwapUsage | undefined;
  readonly io: IoUsage | undefined;
  /** What it has written over its image. */
  readonly writableLayer: FilesystemUsage | undefined;
}

/** What one sandbox with its containers uses. */
export interface PodUsage extends PodRef {
  /** Empty where the runtime tells of containers alone. */
  readonly sandboxId: string;
  readonly attempt: number;
  readonly cpu: CpuUsage | undefined;
  readonly memory: MemoryUsage | undefined;
  readonly io: IoUsage | undefined;
  readonly network: NetworkUsage | undefined;
  readonly processes: number | undefined;
  readonly containers: readonly ContainerUsage[];
}

/** A value of a metric that the runtime makes itself, with a value for each key of its descriptor. */
export interface RuntimeSample {
  readonly name: string;
  /** The id of the sandbox or container that it is about: its labels need not tell. */
  readonly subjectId: string;
  readonly type: 'counter' | 'gauge';
  readonly labelValues: readonly string[];
  readonly value: number;
  /** Milliseconds since the epoch; 0 when the runtime did not say. */
  readonly atMs: number;
}

/** The metrics that a runtime makes itself. */
export interface RuntimeMetrics {
  readonly descriptors: ReadonlyMap<string, { readonly help: string; readonly labelKeys: readonly string[] }>;
  /**
   * Decodes those samples that are wanted: a node has tens of thousands, and most are known better from elsewhere.
   *
   * @param isWanted by the id of the sandbox or container and the name of the metric.
   */
  readonly readSamples: (
    isWanted: (subjectId: string, name: string) => boolean,
    signal?: AbortSignal,
  ) => Promise<readonly RuntimeSample[]>;
}
