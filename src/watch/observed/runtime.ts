/**
 * What the agent asks of a container runtime, in the fewest methods that the event generator needs.
 *
 * In: a CRI endpoint (see {@link CriRuntime}) or a fake of twenty lines. Out: pods as observed, grouped by uid,
 * and hints that something happened. It assumes nothing about order or completeness of events: a list is the
 * truth, an event only says where to look.
 *
 * @module
 */
import { type PodRef } from '#kube/pod/pod-ref.js';

/** The state of a container, and of a sandbox taken as one (ready is running, not ready is exited). */
export type ObservedState = 'created' | 'running' | 'exited' | 'unknown';

/** Who made a pod, told by its labels: us, an agent that writes the kubelet's labels, or somebody by hand. */
export type PodOwner = 'podloop' | 'kubernetes' | 'other';

/**
 * One container or sandbox in a list answer. Immutable; an object is made anew only when something in it changed.
 */
export interface ObservedContainer {
  readonly kind: 'container' | 'sandbox';
  /** Runtime's id, whole. */
  readonly id: string;
  /** The container's name in the pod; the pod's name for a sandbox. May be empty. */
  readonly name: string;
  /** CRI metadata.attempt: how many of that name came before it. */
  readonly attempt: number;
  readonly state: ObservedState;
  /** The sandbox it lives in; its own id for a sandbox. */
  readonly sandboxId: string;
  /** Nanoseconds since the epoch by the runtime's clock; 0n when it did not say. */
  readonly createdAtNs: bigint;
}

/**
 * A pod as one list answer shows it. Immutable.
 *
 * A runtime may return the same object again for a pod in which nothing changed since an earlier answer: whoever
 * compares can then stop at `===`.
 */
export interface ObservedPod extends PodRef {
  readonly owner: PodOwner;
  /** Newest attempt first. Empty when the sandbox is gone and containers are left. */
  readonly sandboxes: readonly ObservedContainer[];
  /** In the order of creation; exited ones included. */
  readonly containers: readonly ObservedContainer[];
}

/** What a container may use; what is not limited is undefined. */
export interface ContainerLimits {
  /** cgroup v1's measure, 1024 for a core; 0n where the runtime does not say. */
  readonly cpuShares: bigint;
  readonly cpuQuotaUs: bigint | undefined;
  readonly cpuPeriodUs: bigint | undefined;
  readonly memoryBytes: bigint | undefined;
}

/** Everything CRI's ContainerStatus says of one container. */
export interface ContainerStatus {
  readonly id: string;
  readonly name: string;
  readonly attempt: number;
  readonly sandboxId: string;
  readonly state: ObservedState;
  /** Nanoseconds since the epoch; 0n when it has not happened. */
  readonly createdAtNs: bigint;
  readonly startedAtNs: bigint;
  readonly finishedAtNs: bigint;
  /** Meaningful once the state is exited. */
  readonly exitCode: number;
  /** Short CamelCase word: Completed, Error, OOMKilled … */
  readonly reason: string;
  readonly message: string;
  /** The image as it was asked for, its reference as resolved, and its id. */
  readonly image: string;
  readonly imageRef: string;
  readonly imageId: string;
  /** From the annotation io.kubernetes.container.restartCount, else the attempt. */
  readonly restartCount: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Absolute path of the log file; empty when there is none. */
  readonly logPath: string;
  /** As of when it was asked last; absent where the runtime does not tell. */
  readonly resources?: ContainerLimits;
  /** By which it is ended, such as SIGTERM or SIGRTMIN+3; absent where the runtime does not tell. */
  readonly stopSignal?: string;
  /** As whom its program began; absent where the runtime does not tell. */
  readonly user?: ContainerUser;
  /** The runtime does not tell its status: this is what a list shows of it, and all else stands for what is not known. */
  readonly isListedOnly?: true;
}

/** The ids of CRI's LinuxContainerUser. */
export interface ContainerUser {
  readonly uid: number;
  readonly gid: number;
  /** Those of the image among them, unless the pod has them left out. */
  readonly supplementalGroups: readonly number[];
}

/** Everything CRI's PodSandboxStatus says of one sandbox. */
export interface SandboxStatus {
  readonly id: string;
  readonly name: string;
  readonly attempt: number;
  readonly state: ObservedState;
  readonly createdAtNs: bigint;
  /** First the primary address, then the others; empty on the host's network. */
  readonly ips: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly runtimeHandler: string;
  /** True when the sandbox shares the node's network namespace. */
  readonly hostNetwork: boolean;
}

/** The full status of one pod. Immutable. */
export interface PodStatus extends PodRef {
  readonly owner: PodOwner;
  /** Addresses of the newest ready sandbox. */
  readonly ips: readonly string[];
  /** Newest attempt first. */
  readonly sandboxes: readonly SandboxStatus[];
  /** In the order of creation. */
  readonly containers: readonly ContainerStatus[];
}

/** What a runtime says happened. Only ever a hint about where to look. */
export interface RuntimeEvent {
  readonly type: 'created' | 'started' | 'stopped' | 'deleted' | 'unknown';
  /** Id of a container or of a sandbox. */
  readonly containerId: string;
  /** Undefined when the runtime did not say, as after the removal of the sandbox. */
  readonly podUid: string | undefined;
  /** Nanoseconds since the epoch by the runtime's clock; 0n when it did not say. */
  readonly createdAtNs: bigint;
  /** What the runtime knew of the pod when it made the event; absent when it did not say. Read each time it is called. */
  readonly statuses?: () => ToldStatuses;
}

/** What an event tells of a pod: its newest sandbox, and the containers in that. */
export interface ToldStatuses {
  readonly sandboxes: readonly SandboxStatus[];
  readonly containers: readonly ContainerStatus[];
}

/** What {@link Runtime.watchEvents} calls, always synchronously and never waiting for it. */
export interface RuntimeEventHandlers {
  /** The runtime has taken the subscription. May never be called by runtimes that stay silent until an event. */
  onOpen?(): void;
  onEvent(event: RuntimeEvent): void;
  /** An event came that could not be read, and nobody knows what it said. */
  onSkipped?(): void;
}

/**
 * A container runtime as the event generator sees it.
 *
 * Every method rejects with the signal's reason when it aborts, and with a PodloopError otherwise. Calls may
 * overlap.
 */
export interface Runtime {
  /** Every pod that the runtime knows, exited ones and pods without a sandbox included; in no order. */
  listPods(signal?: AbortSignal): Promise<readonly ObservedPod[]>;
  /** One pod, or undefined when nothing of it is left. */
  findPod(uid: string, signal?: AbortSignal): Promise<ObservedPod | undefined>;
  /**
   * The full status of a pod of a list answer, or of a part of one: of every sandbox and container named in it. What has vanished
   * since is left out; any other failure of one call rejects the whole.
   */
  getPodStatus(pod: ObservedPod, signal?: AbortSignal): Promise<PodStatus>;
  /**
   * Calls the handlers until the stream ends. Resolves when the runtime ended it, rejects when it broke; absent
   * when the runtime can never have events.
   */
  watchEvents?(handlers: RuntimeEventHandlers, signal: AbortSignal): Promise<void>;
}

/** A {@link PodStatus} in which nothing is visible: what is said of a pod that the runtime does not know. */
export function emptyPodStatus(uid: string): PodStatus {
  return { uid, namespace: '', name: '', owner: 'other', ips: [], sandboxes: [], containers: [] };
}
