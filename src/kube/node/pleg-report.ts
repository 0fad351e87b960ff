/**
 * What `/debug/pleg` answers: the event generator and the calls to the runtime as of one moment, in plain JSON.
 *
 * Durations and ages are milliseconds; times that end in `AtMs` are milliseconds since the epoch, for people. What is
 * absent is not known or does not apply. Every list is bounded and says how many there are where it leaves some out.
 *
 * @module
 */
import { type PodRef } from '../pod/pod-ref.js';

/** See the comment of this module. */
export interface PlegReport {
  /** When it was made. */
  readonly atMs: number;
  /** For how long what it counts has been counted. */
  readonly forMs: number;
  readonly runtime: { readonly name: string; readonly version: string; readonly endpoint: string };
  readonly mode: 'generic' | 'evented' | 'auto';
  /** The relist period in force: from the end of one relist to the begin of the next. */
  readonly periodMs: number;
  readonly health: ReportedHealth;
  readonly relists: ReportedRelists;
  /** Pods whose inspection hangs or fails, longest first, at most 100. They do not make the node unhealthy. */
  readonly stuckPods: readonly ReportedStuckPod[];
  readonly stuckPodCount: number;
  /** Calls that the runtime has not answered yet, oldest first, at most 200; the event stream is not among them. */
  readonly callsInFlight: readonly ReportedCall[];
  readonly callsInFlightCount: number;
  /** Answered calls by operation, in the order of their names. */
  readonly operations: readonly ReportedOperation[];
  /** Pods by what their inspection takes or took, slowest first, at most 1000. */
  readonly slowestPods: readonly ReportedInspection[];
  readonly inspections: ReportedInspections;
  readonly stream: ReportedStream;
  readonly queues: ReportedQueues;
  readonly pods: ReportedPods;
  /** Lifecycle events that were made, by type: ContainerStarted, ContainerDied, … */
  readonly events: Readonly<Record<string, number>>;
  readonly eventLoop: ReportedEventLoop;
  /** Of a node of a cluster. */
  readonly cluster?: ReportedCluster;
  /** Of an agent that runs pods. */
  readonly cgroups?: ReportedCgroups;
}

/** How an agent puts its pods into cgroups. */
export interface ReportedCgroups {
  /** cgroupfs or systemd. */
  readonly driver: string;
  /** Where it is known from: options, RuntimeConfig, Status, sandbox error, earlier run or default. */
  readonly source: string;
  /** Options and runtime name different drivers: what each says and what to change; absent while they agree. */
  readonly conflict?: string;
  readonly problems: readonly ReportedCgroupProblem[];
}

/** Something that pods go without for want of cgroups. */
export interface ReportedCgroupProblem {
  /** A controller: cpu, memory, pids, cpuset, io, hugetlb; `groups` where no cgroup can be made for pods. */
  readonly what: string;
  readonly error: string;
  readonly remedy: string;
  /** False for what only few pods ask for. */
  readonly isNeeded: boolean;
}

/** How a node gets on with its API server. */
export interface ReportedCluster {
  /** As the kubeconfig names it. */
  readonly server: string;
  /** What fails now; empty when node and API server are in step. */
  readonly problems: readonly ReportedClusterProblem[];
}

/** Something that is wanted of an API server and not had. */
export interface ReportedClusterProblem {
  /** `certificate`: the node's as a client; else a collection that is followed: `pods`, `node`, `services`, `runtimeclasses`. */
  readonly what: string;
  readonly error: string;
}

/** Whether the generator is healthy, and why not. */
export interface ReportedHealth {
  readonly healthy: boolean;
  /** The kubelet's words when unhealthy: "pleg was last seen active 3m5s ago; threshold is 3m0s". */
  readonly message?: string;
  /** Which of the known reasons it is: neverSucceeded, listHanging, listFailing, notRelisting, inspectionsFailing. */
  readonly reason?: string;
  /** The runtime's last error, when it is about one. */
  readonly error?: string;
  readonly thresholdMs: number;
  /** When the last relist that succeeded began. */
  readonly lastSeenAtMs?: number;
  /** That long ago. */
  readonly lastSeenAgoMs?: number;
}

/** Relists of all pods. */
export interface ReportedRelists {
  /** How many succeeded: of all pods, and of one. */
  readonly count: number;
  readonly ofOnePod: number;
  /** For how long the list calls of the relist under way have waited for an answer; absent while none is under way. */
  readonly listInFlightMs?: number;
  /** The last 60 that ended, well or not, oldest first. */
  readonly history: readonly ReportedRelist[];
}

/** One relist of all pods that ended. */
export interface ReportedRelist {
  readonly startedAtMs: number;
  /** initial, relist, event or request. */
  readonly trigger: string;
  /** From its begin until nobody need wait for it any longer. */
  readonly durationMs: number;
  /** What it is made of: the list calls, comparing with the records, waiting for the inspections. */
  readonly listMs: number;
  readonly diffMs: number;
  readonly inspectMs: number;
  /** From the begin of the one before to its own; absent for the first. */
  readonly intervalMs?: number;
  /** Pods that the answer showed. */
  readonly pods: number;
  /** Pods that were found due for inspection. */
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
  /** Inspections that have failed. */
  readonly failures: number;
  /** Of the last failure; absent while the first inspection hangs. */
  readonly error?: string;
}

/** A call to the runtime that is not answered yet. */
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
  /** After how long it is given up; absent when only its caller ends it. */
  readonly deadlineMs?: number;
  /** How long it takes where all is well: a stop its grace period, a pull what it may; absent where that is no time. */
  readonly ownMs?: number;
}

/** The answered calls of one operation. */
export interface ReportedOperation {
  /** As the kubelet's metrics name it: list_containers. */
  readonly operation: string;
  readonly count: number;
  /** How many of them failed. */
  readonly failed: number;
  /** How many more their callers gave up before there was an answer, which say nothing of the runtime; absent when none. */
  readonly givenUp?: number;
  /** Of the last 128: the median, what 99 in 100 keep to, and the longest. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** The last failure's code, such as CRI_DEADLINE_EXCEEDED. */
  readonly lastFailure?: string;
}

/** What the inspections of one pod took. */
export interface ReportedInspection {
  readonly pod: PodRef;
  /** For how long the one under way has run; absent while none is. */
  readonly inFlightMs?: number;
  /** What the last that ended took, well or not; absent before the first. */
  readonly lastMs?: number;
  readonly longestMs: number;
  readonly count: number;
  readonly failed: number;
}

/** All inspections. */
export interface ReportedInspections {
  readonly count: number;
  readonly failed: number;
  /** Given up to make room for others. */
  readonly displaced: number;
  readonly inFlight: number;
  /** Waiting for a place. */
  readonly queued: number;
  /** Pods whose status is to be fetched. */
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
  /** Events that came. */
  readonly received: number;
  /** Changes that an event announced, and that none did. */
  readonly announced: number;
  readonly missed: number;
  /** Events that no list has confirmed. */
  readonly contradicted: number;
}

/** What waits where, and what was folded because too much of it did. */
export interface ReportedQueues {
  /** Looks at single pods that were asked for. */
  readonly requests: { readonly queued: number; readonly coalesced: number; readonly folded: number };
  /** One for each reader of events. */
  readonly subscriptions: readonly {
    readonly queued: number;
    readonly delivered: number;
    readonly folded: number;
    readonly resyncs: number;
  }[];
}

/** Pods and containers as the runtime shows them. */
export interface ReportedPods {
  readonly count: number;
  /** With a running sandbox, or with a running container and no sandbox. */
  readonly running: number;
  /** created, running, exited, unknown; sandboxes are not counted. */
  readonly containersByState: Readonly<Record<string, number>>;
  /** Pods of podloop's own agent by phase: Pending, Running, Succeeded, Failed; absent where only the runtime is watched. */
  readonly byPhase?: Readonly<Record<string, number>>;
}

/** By how much the process's own event loop was late within the last minute or two. */
export interface ReportedEventLoop {
  readonly meanMs: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}
