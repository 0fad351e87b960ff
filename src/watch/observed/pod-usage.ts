/**
 * What pods and containers use, as a runtime reports it.
 *
 * Amounts are doubles: they hold bytes exactly up to 8 PiB, and the CPU time of a century to within a
 * microsecond. What a runtime does not report is undefined, and never 0.
 *
 * @module
 */
import { type PodRef } from '#kube/pod/pod-ref.js';

/** CPU time of a pod or container. */
export interface CpuUsage {
  /** Milliseconds since the epoch at which the runtime measured it. */
  readonly atMs: number;
  /** Total since its creation, over all cores. */
  readonly totalNs: number | undefined;
  /** Nanoseconds of CPU time per second, over a window that the runtime chose. */
  readonly nanoCores: number | undefined;
  readonly pressure: Pressure | undefined;
}

/** Memory of a pod or container, in bytes. */
export interface MemoryUsage {
  readonly atMs: number;
  /** Memory that the kernel cannot reclaim at once. */
  readonly workingSetBytes: number | undefined;
  readonly usageBytes: number | undefined;
  /** What is left up to the limit; undefined without one. */
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
  /** What is left up to the limit; undefined without one. */
  readonly availableBytes: number | undefined;
}

/** Time spent waiting for devices. */
export interface IoUsage {
  readonly atMs: number;
  readonly pressure: Pressure | undefined;
}

/**
 * How long processes waited for a resource: `some` is at least one of them, `full` all of them at the same
 * time.
 */
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

/** A pod's own network; absent for a pod on the host's network. */
export interface NetworkUsage {
  readonly atMs: number;
  /** The default interface first. */
  readonly interfaces: readonly InterfaceUsage[];
}

/** Space and inodes used below a folder. */
export interface FilesystemUsage {
  readonly atMs: number;
  /** The mount point of the file system, or the folder itself. */
  readonly mountpoint: string;
  readonly usedBytes: number | undefined;
  readonly inodesUsed: number | undefined;
}

/** What one container uses. A container that does not run has neither CPU nor memory. */
export interface ContainerUsage {
  readonly id: string;
  /** Its name in the pod; may be empty. */
  readonly name: string;
  readonly attempt: number;
  readonly cpu: CpuUsage | undefined;
  readonly memory: MemoryUsage | undefined;
  readonly swap: SwapUsage | undefined;
  readonly io: IoUsage | undefined;
  /** What it has written on top of its image. */
  readonly writableLayer: FilesystemUsage | undefined;
}

/** What one sandbox and its containers use. */
export interface PodUsage extends PodRef {
  /** Empty if the runtime reports containers only. */
  readonly sandboxId: string;
  readonly attempt: number;
  readonly cpu: CpuUsage | undefined;
  readonly memory: MemoryUsage | undefined;
  readonly io: IoUsage | undefined;
  readonly network: NetworkUsage | undefined;
  readonly processes: number | undefined;
  readonly containers: readonly ContainerUsage[];
}

/** A value of one of the runtime's own metrics, with a label value for each key of its descriptor. */
export interface RuntimeSample {
  readonly name: string;
  /** The id of the sandbox or container that it is about, as its labels need not contain it. */
  readonly subjectId: string;
  readonly type: 'counter' | 'gauge';
  readonly labelValues: readonly string[];
  readonly value: number;
  /** Milliseconds since the epoch; 0 if the runtime did not report it. */
  readonly atMs: number;
}

/** The runtime's own metrics. */
export interface RuntimeMetrics {
  readonly descriptors: ReadonlyMap<string, { readonly help: string; readonly labelKeys: readonly string[] }>;
  /**
   * Decodes only the samples that are wanted: a node has tens of thousands, and most data has a better
   * source.
   *
   * @param isWanted decides by the id of the sandbox or container and the name of the metric.
   */
  readonly readSamples: (
    isWanted: (subjectId: string, name: string) => boolean,
    signal?: AbortSignal,
  ) => Promise<readonly RuntimeSample[]>;
}
