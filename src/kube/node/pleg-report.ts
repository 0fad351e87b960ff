/**
 * The answer of `/debug/pleg`: the present state of the event generator and of the calls to the runtime, in
 * plain JSON.
 *
 * Durations and ages are milliseconds; times that end in `AtMs` are milliseconds since the epoch, for people.
 * An absent field is unknown or does not apply. Every list is bounded, and has a total count if it leaves
 * entries out.
 * @module
 */
import { type PodRef } from '../pod/pod-ref.js';

/** See the comment of this module. */
export interface PlegReport {
  /** When it was made. */
  readonly atMs: number;
  /** How long it has been counting. */
  readonly forMs: number;
  readonly runtime: { readonly name: string; readonly version: string; readonly endpoint: string };
  readonly mode: 'generic' | 'evented' | 'auto';
  /** The present relist period: from the end of one relist to the start of the next. */
  readonly periodMs: number;
  readonly health: ReportedHealth;
  readonly relists: ReportedRelists;
  /**
   * Pods whose inspection hangs or fails, longest first, at most 100. They do not make the node unhealthy.
   */
  readonly stuckPods: readonly ReportedStuckPod[];
  readonly stuckPodCount: number;
  /** Calls that the runtime has not answered yet, oldest first, at most 200; without the event stream. */
  readonly callsInFlight: readonly ReportedCall[];
  readonly callsInFlightCount: number;
  /** Answered calls by operation, sorted by name. */
  readonly operations: readonly ReportedOperation[];
  /** Pods by the duration of their running or last inspection, slowest first, at most 1000. */
  readonly slowestPods: readonly ReportedInspection[];
  readonly inspections: ReportedInspections;
  readonly stream: ReportedStream;
  readonly queues: ReportedQueues;
  readonly pods: ReportedPods;
  /** Lifecycle events made so far, by type: ContainerStarted, ContainerDied, … */
  readonly events: Readonly<Record<string, number>>;
  readonly eventLoop: ReportedEventLoop;
  /** Only of a node in a cluster. */
  readonly cluster?: ReportedCluster;
  /** Only of an agent that runs pods. */
  readonly cgroups?: ReportedCgroups;
}

/** How an agent puts its pods into cgroups. */
export interface ReportedCgroups {
  /** cgroupfs or systemd. */
  readonly driver: string;
  /**
   * Where the driver is known from: options, RuntimeConfig, Status, sandbox error, earlier run or default.
   */
  readonly source: string;
  /** Set if options and runtime name different drivers: what each says and what to change. */
  readonly conflict?: string;
  readonly problems: readonly ReportedCgroupProblem[];
}

/** A cgroup feature that pods have to do without. */
export interface ReportedCgroupProblem {
  /** A controller: cpu, memory, pids, cpuset, io, hugetlb; `groups` if no cgroup can be made for pods. */
  readonly what: string;
  readonly error: string;
  readonly remedy: string;
  /** False for what only few pods need. */
  readonly isNeeded: boolean;
}

/** The state of a node's connection to its API server. */
export interface ReportedCluster {
  /** As the kubeconfig names it. */
  readonly server: string;
  /** Present failures; empty if node and API server are in sync. */
  readonly problems: readonly ReportedClusterProblem[];
}

/** A request to the API server that fails. */
export interface ReportedClusterProblem {
  /**
   * `certificate` for the node's client certificate, else the watched collection: `pods`, `node`, `services`,
   * `runtimeclasses`.
   */
  readonly what: string;
  readonly error: string;
}

/** Whether the generator is healthy, and why not. */
export interface ReportedHealth {
  readonly healthy: boolean;
  /** The kubelet's words when unhealthy: "pleg was last seen active 3m5s ago; threshold is 3m0s". */
  readonly message?: string;
  /** The kind of reason: neverSucceeded, listHanging, listFailing, notRelisting, inspectionsFailing. */
  readonly reason?: string;
  /** The runtime's last error, if the reason is one. */
  readonly error?: string;
  readonly thresholdMs: number;
  /** When the last successful relist began. */
  readonly lastSeenAtMs?: number;
  /** How long ago that was. */
  readonly lastSeenAgoMs?: number;
}

/** Relists of all pods. */
export interface ReportedRelists {
  /** How many succeeded: of all pods, and of one. */
  readonly count: number;
  readonly ofOnePod: number;
  /** How long the list calls of the running relist have waited for an answer; absent if none is running. */
  readonly listInFlightMs?: number;
  /** The last 60 that ended, successful or not, oldest first. */
  readonly history: readonly ReportedRelist[];
}

/** A finished relist of all pods. */
export interface ReportedRelist {
  readonly startedAtMs: number;
  /** initial, relist, event or request. */
  readonly trigger: string;
  /** From its start until nobody need wait for it any longer. */
  readonly durationMs: number;
  /** Its parts: the list calls, the comparison with the records, the wait for inspections. */
  readonly listMs: number;
  readonly diffMs: number;
  readonly inspectMs: number;
  /** From the start of the one before to its own; absent for the first. */
  readonly intervalMs?: number;
  /** Pods in the answer. */
  readonly pods: number;
  /** Pods found due for inspection. */
  readonly due: number;
  /** Why it failed. */
  readonly error?: string;
}

/** A pod whose inspection hangs or fails. */
export interface ReportedStuckPod {
  readonly pod: PodRef;
  readonly state: 'hung' | 'failing';
  /** Since when no inspection of it has succeeded. */
  readonly sinceMs: number;
  readonly forMs: number;
  /** How many inspections have failed. */
  readonly failures: number;
  /** Error of the last failure; absent while the first inspection hangs. */
  readonly error?: string;
}

/** A call that the runtime has not answered yet. */
export interface ReportedCall {
  /** As CRI names it: ContainerStatus. */
  readonly method: string;
  /** As the kubelet's metrics name it: container_status. */
  readonly operation: string;
  readonly pod?: PodRef;
  readonly containerId?: string;
  readonly sandboxId?: string;
  readonly startedAtMs: number;
  readonly ageMs: number;
  /** After how many milliseconds it times out; absent if only its caller ends it. */
  readonly deadlineMs?: number;
  /**
   * How long it may take when all is well: a stop's grace period, a pull's limit; absent if it should be
   * quick.
   */
  readonly ownMs?: number;
}

/** The answered calls of one operation. */
export interface ReportedOperation {
  /** As the kubelet's metrics name it: list_containers. */
  readonly operation: string;
  readonly count: number;
  /** How many of them failed. */
  readonly failed: number;
  /** How many more were cancelled by their callers, which says nothing about the runtime; absent if none. */
  readonly givenUp?: number;
  /** Of the last 128: the median, the 99th percentile and the maximum. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** The last failure's code, such as CRI_DEADLINE_EXCEEDED. */
  readonly lastFailure?: string;
}

/** The durations of one pod's inspections. */
export interface ReportedInspection {
  readonly pod: PodRef;
  /** How long the running one has taken; absent if none is running. */
  readonly inFlightMs?: number;
  /** How long the last finished one took, successful or not; absent before the first. */
  readonly lastMs?: number;
  readonly longestMs: number;
  readonly count: number;
  readonly failed: number;
}

/** All inspections. */
export interface ReportedInspections {
  readonly count: number;
  readonly failed: number;
  /** Cancelled to make room for others. */
  readonly displaced: number;
  readonly inFlight: number;
  /** Waiting for a place. */
  readonly queued: number;
  /** Pods that need a status call. */
  readonly due: number;
}

/** The runtime's event stream. */
export interface ReportedStream {
  /** off, connecting, up, waiting or unsupported. */
  readonly state: string;
  readonly connects: number;
  readonly failures: number;
  readonly lastError?: string;
  readonly connectedAtMs?: number;
  /** Events received. */
  readonly received: number;
  /** Changes that an event announced, and changes that none did. */
  readonly announced: number;
  readonly missed: number;
  /** Events that no list has confirmed. */
  readonly contradicted: number;
}

/** What waits in each queue, and what was folded because a queue was full. */
export interface ReportedQueues {
  /** Requested lists of single pods. */
  readonly requests: { readonly queued: number; readonly coalesced: number; readonly folded: number };
  /** One for each subscriber of events. */
  readonly subscriptions: readonly {
    readonly queued: number;
    readonly delivered: number;
    readonly folded: number;
    readonly resyncs: number;
  }[];
}

/** Pods and containers in the runtime. */
export interface ReportedPods {
  readonly count: number;
  /** With a running sandbox, or with a running container and no sandbox. */
  readonly running: number;
  /** created, running, exited, unknown; without sandboxes. */
  readonly containersByState: Readonly<Record<string, number>>;
  /**
   * Pods of podloop's own agent by phase: Pending, Running, Succeeded, Failed; absent if only the runtime is
   * watched.
   */
  readonly byPhase?: Readonly<Record<string, number>>;
}

/** How late the process's own event loop was within the last minute or two. */
export interface ReportedEventLoop {
  readonly meanMs: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}
