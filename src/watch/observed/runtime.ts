/**
 * What the agent reads from a container runtime, in the fewest methods that the event generator needs.
 *
 * In: a CRI endpoint (see {@link CriRuntime}) or a fake of twenty lines. Out: pods as observed, grouped by
 * uid, and hints that something happened. It assumes nothing about order or completeness of events: a list is
 * the truth, an event only says which pod to inspect.
 *
 * @module
 */
import { type PodRef } from '#kube/pod/pod-ref.js';

/** The state of a container, or of a sandbox treated as one (ready is running, not ready is exited). */
export type ObservedState = 'created' | 'running' | 'exited' | 'unknown';

/** The owner of a pod, by its labels: podloop, an agent that writes the kubelet's labels, or anybody else. */
export type PodOwner = 'podloop' | 'kubernetes' | 'other';

/**
 * One container or sandbox in a list answer. Immutable; a new object is made only when something in it
 * changed.
 */
export interface ObservedContainer {
  readonly kind: 'container' | 'sandbox';
  /** The runtime's id, in full. */
  readonly id: string;
  /** The container's name in the pod; the pod's name for a sandbox. May be empty. */
  readonly name: string;
  /** CRI's metadata.attempt: how many of that name came before it. */
  readonly attempt: number;
  readonly state: ObservedState;
  /** The sandbox that contains it; its own id for a sandbox. */
  readonly sandboxId: string;
  /** Nanoseconds since the epoch by the runtime's clock; 0n if not reported. */
  readonly createdAtNs: bigint;
}

/**
 * A pod as one list answer shows it. Immutable.
 *
 * A runtime may return the same object again for a pod in which nothing changed since an earlier answer, so
 * that a comparison can stop at `===`.
 */
export interface ObservedPod extends PodRef {
  readonly owner: PodOwner;
  /** Newest attempt first. Empty when the sandbox is gone and containers are left. */
  readonly sandboxes: readonly ObservedContainer[];
  /** In the order of creation; exited ones included. */
  readonly containers: readonly ObservedContainer[];
}

/** A container's limits; undefined for what is not limited. */
export interface ContainerLimits {
  /** In cgroup v1's unit, 1024 for a core; 0n if the runtime does not report it. */
  readonly cpuShares: bigint;
  readonly cpuQuotaUs: bigint | undefined;
  readonly cpuPeriodUs: bigint | undefined;
  readonly memoryBytes: bigint | undefined;
}

/** Everything that CRI's ContainerStatus says about one container. */
export interface ContainerStatus {
  readonly id: string;
  readonly name: string;
  readonly attempt: number;
  readonly sandboxId: string;
  readonly state: ObservedState;
  /** Nanoseconds since the epoch; 0n for what has not happened. */
  readonly createdAtNs: bigint;
  readonly startedAtNs: bigint;
  readonly finishedAtNs: bigint;
  /** Meaningful once the state is exited. */
  readonly exitCode: number;
  /** Short CamelCase word: Completed, Error, OOMKilled … */
  readonly reason: string;
  readonly message: string;
  /** The image as it was requested, its resolved reference, and its id. */
  readonly image: string;
  readonly imageRef: string;
  readonly imageId: string;
  /** From the annotation io.kubernetes.container.restartCount, else the attempt. */
  readonly restartCount: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Absolute path of the log file; empty if there is none. */
  readonly logPath: string;
  /** As of the last status call; absent if the runtime does not report them. */
  readonly resources?: ContainerLimits;
  /** The signal that stops it, such as SIGTERM or SIGRTMIN+3; absent if the runtime does not report it. */
  readonly stopSignal?: string;
  /** The user that its program started as; absent if the runtime does not report it. */
  readonly user?: ContainerUser;
  /**
   * The runtime does not return its status: only what a list shows is valid, and all other fields are
   * unknown.
   */
  readonly isListedOnly?: true;
}

/** The ids of CRI's LinuxContainerUser. */
export interface ContainerUser {
  readonly uid: number;
  readonly gid: number;
  /** Includes the groups of the image, unless the pod excludes them. */
  readonly supplementalGroups: readonly number[];
}

/** Everything that CRI's PodSandboxStatus says about one sandbox. */
export interface SandboxStatus {
  readonly id: string;
  readonly name: string;
  readonly attempt: number;
  readonly state: ObservedState;
  readonly createdAtNs: bigint;
  /** The primary address first; empty on the host's network. */
  readonly ips: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly runtimeHandler: string;
  /** True when the sandbox shares the node's network namespace. */
  readonly hostNetwork: boolean;
  /** The ids that its users have on the node; absent if they are the node's own, or unknown. */
  readonly idRange?: IdRange;
}

/** Ids of users and groups of the node: id 0 of a user namespace is the first one, and so on. */
export interface IdRange {
  readonly hostId: number;
  readonly length: number;
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

/** An event of the runtime. Only a hint about which pod to inspect. */
export interface RuntimeEvent {
  readonly type: 'created' | 'started' | 'stopped' | 'deleted' | 'unknown';
  /** The id of a container or of a sandbox. */
  readonly containerId: string;
  /** Undefined if the runtime did not report it, as after the removal of the sandbox. */
  readonly podUid: string | undefined;
  /** Nanoseconds since the epoch by the runtime's clock; 0n if not reported. */
  readonly createdAtNs: bigint;
  /** The pod's status in the event, decoded at each call; absent if the event has none. */
  readonly statuses?: () => EventStatuses;
}

/** The status in an event: the pod's newest sandbox and the containers in it. */
export interface EventStatuses {
  readonly sandboxes: readonly SandboxStatus[];
  readonly containers: readonly ContainerStatus[];
}

/** Handlers that {@link Runtime.watchEvents} calls synchronously and never awaits. */
export interface RuntimeEventHandlers {
  /**
   * The runtime has accepted the subscription. May never be called by runtimes that stay silent until an
   * event.
   */
  onOpen?(): void;
  onEvent(event: RuntimeEvent): void;
  /** An event came that could not be read. */
  onSkipped?(): void;
}

/**
 * A container runtime as the event generator sees it.
 *
 * Every method rejects with the signal's reason when it aborts, and with a PodloopError otherwise. Calls may
 * overlap.
 */
export interface Runtime {
  /**
   * Lists every pod that the runtime knows, including exited ones and pods without a sandbox, in no order.
   */
  listPods(signal?: AbortSignal): Promise<readonly ObservedPod[]>;
  /** Finds one pod; undefined if nothing of it is left. */
  findPod(uid: string, signal?: AbortSignal): Promise<ObservedPod | undefined>;
  /**
   * Reads the full status of every sandbox and container named in `pod`, which may be part of a listed pod.
   *
   * What has vanished since is left out; any other failure of one call rejects the whole.
   */
  getPodStatus(pod: ObservedPod, signal?: AbortSignal): Promise<PodStatus>;
  /**
   * Calls the handlers until the stream ends.
   *
   * Resolves when the runtime ends the stream, rejects when it breaks; absent if the runtime can never have
   * events.
   */
  watchEvents?(handlers: RuntimeEventHandlers, signal: AbortSignal): Promise<void>;
  /**
   * Whether each event goes to every reader (default: false). CRI's GetContainerEvents does not promise it: a runtime may give
   * an event to one of several readers, so what it announces has to prove complete first.
   */
  readonly eventsReachAll?: boolean;
}

/** An empty {@link PodStatus}, for a pod that the runtime does not know. */
export function emptyPodStatus(uid: string): PodStatus {
  return { uid, namespace: '', name: '', owner: 'other', ips: [], sandboxes: [], containers: [] };
}
