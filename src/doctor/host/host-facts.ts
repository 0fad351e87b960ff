import { type PodRef } from '#kube/pod/pod-ref.js';

/** A process as far as it is named. */
export interface NamedProcess {
  readonly pid: number;
  readonly command: string;
}

/** The pod and the container that a process works for, as far as that is known. */
export interface ContainerOwner {
  readonly pod?: PodRef;
  /** Absent for the sandbox itself. */
  readonly container?: string;
}

/** What a process does: its state as /proc/PID/stat has it, and the kernel function that it sleeps in. */
export interface ProcessState {
  readonly state: string;
  /** Empty when it runs or the kernel does not say. */
  readonly waitsIn: string;
  /** Of one that is stopped, frozen or blocked: for how long it has not run. Absent where the kernel does not say. */
  readonly stillForMs?: number;
  /** The debugger that holds it; absent where none does, and for one that lets it go on at once. */
  readonly tracer?: NamedProcess;
}

/** A call of the OCI runtime (runc, crun) by a shim, or by CRI-O. */
export interface OciCall extends NamedProcess, ProcessState, ContainerOwner {
  /** As the OCI runtime's command line has it: create, kill, exec, delete. */
  readonly operation: string;
  readonly containerId: string;
  /** Who called it, in words; absent for a shim. */
  readonly caller?: string;
  readonly forMs: number;
  /** Its last descendant, which it waits for; absent when it has none. */
  readonly waitsFor?: NamedProcess & ProcessState;
  /** The cgroup with which what it waits for is frozen; absent where it is not, or the call is young. */
  readonly frozenCgroup?: string;
}

/** A shim that cannot do its work. */
export interface IllShim extends NamedProcess, ProcessState, ContainerOwner {
  readonly sandboxId: string;
  /** By the cgroup of a process of the pod, where nothing else says whose it is. */
  readonly podUid?: string;
  /**
   * `stopped`: by a signal. `frozen`: by its cgroup. `blocked`: in the kernel, at both scans. `silent`: it takes a
   * connection at its socket and does not answer, for the container that is named alone or for all.
   */
  readonly illness: 'stopped' | 'frozen' | 'blocked' | 'silent';
  /** For how long its socket did not answer; absent where it was not asked. */
  readonly silentForMs?: number;
  /** Where it is frozen: the folder of its cgroup; of one that is silent, that of a container which is frozen. */
  readonly cgroup?: string;
  /** What is below it and in no container: calls that it made, or what they left behind. */
  readonly helpers: readonly (NamedProcess & ProcessState & { readonly forMs: number })[];
}

/** Processes that a container runtime started to do its work. */
export interface RuntimeWork {
  /** Oldest first, at most {@link MAX_NAMED}, and how many there are. */
  readonly calls: readonly OciCall[];
  readonly callCount: number;
  /** Calls that were seen and had ended by the last scan, oldest first, at most {@link MAX_NAMED}, and how many there were. */
  readonly endedCalls: readonly OciCall[];
  readonly endedCallCount: number;
  readonly illShims: readonly IllShim[];
  readonly illShimCount: number;
  /** Those shims that have the largest shares of the files open that they may have, at most three. */
  readonly shimFiles?: readonly ShimFiles[];
  /** Shims that were asked at their socket. */
  readonly asked: number;
}

/** How many files a shim has open, and may have: each exec and each attach takes some. */
export interface ShimFiles extends NamedProcess, ContainerOwner {
  readonly openFiles: Spent;
}

/** A program that the node cannot do without: its container runtime, its kubelet. */
export interface Daemon extends NamedProcess, ProcessState {
  readonly forMs: number;
  /** Where it is frozen: the folder of its cgroup. */
  readonly frozenCgroup?: string;
  readonly openFiles?: Spent;
  /**
   * Of its cgroup, or of the one above that which is nearest to its limit: tasks (TasksMax of its unit), memory in bytes without what
   * is cached of files, which the kernel takes back. Absent where none has a limit.
   */
  readonly tasks?: SpentOfCgroup;
  readonly memory?: SpentOfCgroup;
  /** While this ran: tasks that its cgroup refused, and processes in it that the kernel killed for want of memory. */
  readonly refusedTasks?: number;
  readonly oomKills?: number;
  /** The unit of systemd that it is in, without `.service`; absent where it is in none. */
  readonly unit?: string;
  /** Periods of CPU time while this ran, and in how many of them its cgroup had used up its share. */
  readonly cpuPeriods?: Spent;
}

/** How much of something is used, and how much there may be. */
export interface Spent {
  readonly used: number;
  readonly limit: number;
}

/** The same of a cgroup: its folder below that of its controller, such as `/system.slice/containerd.service`. */
export interface SpentOfCgroup extends Spent {
  readonly cgroup: string;
}

/** The daemons of a node that were found. */
export interface DaemonFacts {
  readonly runtime?: Daemon;
  /** A runtime that was started lately and does not listen anywhere yet. */
  readonly startingRuntime?: NamedProcess & { readonly forMs: number };
  readonly kubelet?: Daemon;
  /** Where a kubelet is installed on this machine, whether it runs or not: the file that shows it. */
  readonly kubeletConfigured?: string;
  /** Of systemd as the machine's first process and the system's message bus, those that are stopped or frozen. */
  readonly stoppedInit?: readonly StoppedProcess[];
}

/** A process that runs no more until somebody lets it go on. */
export interface StoppedProcess extends NamedProcess, ProcessState {
  /** Where it is frozen: the folder of its cgroup. */
  readonly frozenCgroup?: string;
}

/** How systemd sees a unit: the values are those of its properties. */
export interface UnitFacts {
  /** `kubelet.service`. */
  readonly name: string;
  /** active, inactive, failed, activating, deactivating, reloading. */
  readonly activeState: string;
  /** running, dead, auto-restart and others. */
  readonly subState: string;
  /** How its last run ended: success, exit-code, signal, oom-kill, timeout, watchdog, start-limit-hit and others. */
  readonly result: string;
  /** Of its last main process: the exit status, or the number of the signal. */
  readonly exitStatus: number;
  /** How often systemd has started it again by itself since somebody started it. */
  readonly restarts: number;
  /** How long it has been in this state; absent when it was never started. */
  readonly forMs?: number;
}

/** What systemd answers about the units of the node. */
export interface SystemdFacts {
  /** That are installed; none where systemd is not the machine's init. */
  readonly units: readonly UnitFacts[];
  /** For how long it was waited for an answer that did not come; absent when it came. */
  readonly silentForMs?: number;
}

/** How many files root may watch at once, and whether it has come to that. */
export interface InotifyFacts {
  /** fs.inotify.max_user_instances and max_user_watches; 0 where they cannot be read. */
  readonly instances: number;
  readonly watches: number;
  /** Which of the two are all in use; absent where neither is. */
  readonly usedUp?: 'instances' | 'watches';
  /** Who has the most instances then, at most three. */
  readonly holders?: readonly InotifyHolder[];
}

/** A process with instances of inotify. */
interface InotifyHolder extends NamedProcess, ContainerOwner {
  readonly instances: number;
}

/** A mount whose server does not answer. */
export interface DeadMount {
  readonly path: string;
  readonly fsType: string;
  /** What was mounted: `server:/path` of NFS. */
  readonly source: string;
  /** For how long it did not answer; absent where it answered with an error. */
  readonly silentForMs?: number;
  /** The error with which it answered: ENOTCONN, ESTALE. */
  readonly code?: string;
  /** The pods that have it mounted. */
  readonly pods: readonly PodRef[];
  /** Processes of this machine that may serve it. */
  readonly servers: readonly MountServer[];
}

/** A file system that the kernel has closed for writing after an error. */
export interface FailedFileSystem {
  /** Where it is mounted, the first place if there are more. */
  readonly path: string;
  /** `major:minor` of it. */
  readonly device: string;
  readonly fsType: string;
  readonly source: string;
  /** The pods that have it mounted. */
  readonly pods: readonly PodRef[];
}

/** A process that serves a mount. */
export interface MountServer extends NamedProcess, ContainerOwner {
  readonly isStopped: boolean;
  /** For how long it has not run, where it is stopped and the kernel says so. */
  readonly stillForMs?: number;
}

/** Maximum of culprits to name. */
export const MAX_NAMED = 10;
