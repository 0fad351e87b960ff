import { type PodRef } from '#kube/pod/pod-ref.js';
import {
  type ContainerOwner,
  type DaemonFacts,
  type DeadMount,
  type FailedFileSystem,
  type NamedProcess,
  type RuntimeWork,
  type InotifyFacts,
  type SystemdFacts,
} from '../host/host-facts.js';
import { type KernelLogFacts } from '../host/kernel-log.js';
import { type Looked } from '../looked.js';

/** What was found out about the machine itself. */
export interface MachineFacts {
  readonly pressure: Looked<PressureFacts>;
  readonly load: Looked<LoadFacts>;
  readonly memory: Looked<MemoryFacts>;
  readonly processes: Looked<ProcessFacts>;
  readonly disks: readonly DiskFacts[];
  /** File systems that were asked and did not answer. */
  readonly silentDisks: readonly SilentDisk[];
  readonly fsync: Looked<FsyncFacts>;
  readonly shims: Looked<ShimFacts>;
  readonly abandonedShims: Looked<AbandonedShimFacts>;
  readonly plugins: Looked<PluginFacts>;
  /** What the runtime's shims and OCI runtime are at, and which of them hang. */
  readonly runtimeWork: Looked<RuntimeWork>;
  readonly daemons: Looked<DaemonFacts>;
  readonly systemd: Looked<SystemdFacts>;
  /** Mounts by network and FUSE whose server does not answer. */
  readonly deadMounts: Looked<readonly DeadMount[]>;
  /** File systems that the kernel has closed for writing after an error. */
  readonly failedFileSystems: Looked<readonly FailedFileSystem[]>;
  readonly kernelLog: Looked<KernelLogFacts>;
  readonly inotify: Looked<InotifyFacts>;
}

/** Shares of time in percent in which some tasks, or all that are not idle, waited: the kernel's PSI. */
export interface PressureFacts {
  readonly cpu: PressureOf;
  readonly io: PressureOf;
  readonly memory: PressureOf;
}

/** Of one resource, in percent of the time, averaged over ten seconds and over a minute. */
export interface PressureOf {
  readonly someAvg10: number;
  readonly someAvg60: number;
  readonly fullAvg10: number;
  readonly fullAvg60: number;
  /** While this ran, which the averages of the kernel follow slowly; absent where it was read once only. */
  readonly someNow?: number;
  readonly fullNow?: number;
}

/** CPUs, and how many tasks run or wait for one on average over one and five minutes: proc_loadavg(5). */
export interface LoadFacts {
  readonly cores: number;
  readonly average1: number;
  readonly average5: number;
}

/** What the machine has, and what could be given out without swapping: MemTotal and MemAvailable of proc_meminfo(5). */
export interface MemoryFacts {
  readonly totalBytes: number;
  readonly availableBytes: number;
}

/** What runs, and what stands still. */
export interface ProcessFacts {
  readonly processes: number;
  readonly threads: number;
  /** What the kernel allows. */
  readonly pidMax: number;
  readonly threadsMax: number;
  /** Dead in both scans. */
  readonly zombies: number;
  /** Who does not collect them: parents with the most, at most five. */
  readonly zombieParents: readonly (NamedProcess & ContainerOwner & { readonly zombies: number })[];
  /** Threads in uninterruptible sleep that did not run between two scans, at most ten, and how many there are; `thread` of other than the first. */
  readonly blocked: readonly BlockedTask[];
  readonly blockedCount: number;
}

/** A thread that hangs in the kernel, and whose it is. */
export interface BlockedTask extends NamedProcess, ContainerOwner {
  readonly thread?: number;
  readonly waitsIn: string;
  /** For how long it has not run; absent where the kernel does not say. */
  readonly stillForMs?: number;
}

/** A file system that the node needs. */
export interface DiskFacts {
  readonly path: string;
  /** What it is there for: images, kubelet, logs. */
  readonly purpose: string;
  /** Whether images and containers lie there, for which Kubernetes wants more room. */
  readonly holdsImages: boolean;
  /** Whether the node is ill as soon as nothing can be written there: containers, pods, volumes, sockets. */
  readonly mustBeWritten: boolean;
  /** `major:minor` of the file system; empty where the mounts cannot be read. */
  readonly device: string;
  /** Nothing can be written to it, so that it is as full as it was made. */
  readonly isReadOnly: boolean;
  readonly totalBytes: number;
  readonly availableBytes: number;
  /** 0 where the file system counts no inodes. */
  readonly totalInodes: number;
  readonly freeInodes: number;
}

/** A file system that does not answer. */
export interface SilentDisk {
  readonly path: string;
  readonly purpose: string;
  readonly forMs: number;
}

/** Small writes that were pushed through to the disk. */
export interface FsyncFacts {
  readonly path: string;
  /** That arrived. */
  readonly writes: number;
  /** For how long the one behind them had not arrived when it was given up. */
  readonly hungMs?: number;
  readonly medianMs: number;
  readonly maxMs: number;
}

/** A shim, and its pod by the bundle that it was started in. */
export interface NamedShim extends NamedProcess {
  readonly sandboxId: string;
  readonly pod?: PodRef;
}

/** containerd's shims beside what the runtime lists. */
export interface ShimFacts {
  readonly count: number;
  /** That run for sandboxes which the runtime does not know, at most ten, and how many there are. */
  readonly orphans: readonly NamedShim[];
  readonly orphanCount: number;
  /** Ready sandboxes without a shim, at most ten, and how many there are. */
  readonly gone: readonly { readonly sandboxId: string; readonly pod: PodRef }[];
  readonly goneCount: number;
}

/** Shims at whose containerd's address nobody listens. */
export interface AbandonedShimFacts {
  readonly count: number;
  /** At most ten. */
  readonly shims: readonly NamedShim[];
  readonly addresses: readonly string[];
}

/** Network plugins (CNI) that run in both scans. */
export interface PluginFacts {
  /** Longest first, at most ten, and how many there are. */
  readonly running: readonly RunningPlugin[];
  readonly count: number;
}

/** A network plugin that is at work on the sandbox of a pod. */
export interface RunningPlugin extends NamedProcess {
  /** As CNI names it: ADD, DEL, CHECK. */
  readonly operation: string;
  readonly sandboxId: string;
  readonly pod?: PodRef;
  readonly forMs: number;
}
