/**
 * What a test may ask of a synthetic runtime while it serves: change its pods, break its calls, bend its events.
 *
 * Everything here crosses a process boundary, so it is plain data and every answer is a promise.
 *
 * @module
 */

import { status } from '@grpc/grpc-js';

/** A container of a synthetic pod. */
export interface SyntheticContainer {
  readonly id: string;
  readonly name: string;
  readonly attempt: number;
  readonly podUid: string;
  readonly sandboxId: string;
  readonly state: 'created' | 'running' | 'exited';
  /** Nanoseconds since the epoch; 0n when it has not happened. */
  readonly createdAtNs: bigint;
  readonly startedAtNs: bigint;
  readonly finishedAtNs: bigint;
  readonly exitCode: number;
  readonly reason: string;
}

/** A synthetic pod: one sandbox and its containers, in the order of creation. */
export interface SyntheticPod {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly sandboxId: string;
  readonly sandboxReady: boolean;
  readonly createdAtNs: bigint;
  readonly containers: readonly SyntheticContainer[];
}

/** Which containers are meant: those of all that is given, in the order of the node's pods. */
export interface ContainerSelection {
  readonly containerIds?: readonly string[];
  readonly podUids?: readonly string[];
  /** Maximum of those that qualify. */
  readonly count?: number;
}

/** How pods that are added look. */
export interface AddPodsOptions {
  readonly count: number;
  readonly containersPerPod: number;
  /** Default: `running`. */
  readonly state?: SyntheticContainer['state'];
}

/** How a container ends. */
export interface KillOptions {
  /** Default: 137. */
  readonly exitCode?: number;
  /** Default: `Completed` for 0 and `Error` for the rest. */
  readonly reason?: string;
}

/** What is broken. Each stays as it is until it is set again. */
export interface SyntheticFaults {
  /** Uids of pods whose ContainerStatus is not answered; removal from the list answers what waits. */
  readonly hungPods: readonly string[];
  /** Uids of pods whose PodSandboxStatus is not answered. */
  readonly hungSandboxes: readonly string[];
  /** By pod uid, the gRPC code with which its ContainerStatus fails. */
  readonly failingPods: Readonly<Record<string, status>>;
  /** Every status call takes so much longer; calls wait side by side. */
  readonly statusDelayMs: number;
  /** So many status calls are served at once, the others queue. */
  readonly statusConcurrency: number;
  /** No list is answered until this is false again. */
  readonly listsHang: boolean;
  /** The gRPC code with which every list fails; OK for none. */
  readonly listFailure: status;
  /** Every list takes so much longer. */
  readonly listDelayMs: number;
  /** Whether StreamPodSandboxes and StreamContainers are there; otherwise Unimplemented. */
  readonly streamingLists: boolean;
  /** Why Status says that the network is not ready; empty when it is. */
  readonly networkNotReady: string;
  /** What GetContainerEvents does: serves, answers Unimplemented, or ends at once without an error. */
  readonly events: 'on' | 'unimplemented' | 'ended';
  /** Whether a stream's headers go out when it opens; otherwise with its first event, as containerd does. */
  readonly eventHeadersAtOnce: boolean;
  /** Every n-th event is lost: 1 loses all of them, 0 none. */
  readonly dropEvery: number;
  /** Every n-th event is sent twice: 1 repeats all of them, 0 none. */
  readonly duplicateEvery: number;
}

/** Nothing broken, lists of the unary kind, events served. */
export const NO_FAULTS: SyntheticFaults = {
  hungPods: [],
  hungSandboxes: [],
  failingPods: {},
  statusDelayMs: 0,
  statusConcurrency: Number.POSITIVE_INFINITY,
  listsHang: false,
  listFailure: status.OK,
  listDelayMs: 0,
  streamingLists: false,
  networkNotReady: '',
  events: 'on',
  eventHeadersAtOnce: false,
  dropEvery: 0,
  duplicateEvery: 0,
};

/** What happened so far: what tests wait on instead of sleeping. */
export interface SyntheticCounters {
  /** Calls that arrived, by method name as in CRI. */
  readonly calls: Readonly<Record<string, number>>;
  /** Calls that wait for an answer now, streams of events included. */
  readonly inFlight: Readonly<Record<string, number>>;
  /** The most calls of a method that ever waited at once. */
  readonly mostInFlight: Readonly<Record<string, number>>;
  /** Events written, once for each reader; and events that were lost on purpose. */
  readonly eventsSent: number;
  readonly eventsDropped: number;
}

/** An event made up by a test. */
export interface MadeUpEvent {
  readonly type: 'created' | 'started' | 'stopped' | 'deleted';
  readonly containerId: string;
  /** The pod whose sandbox status goes with it; without one the event says nothing about a pod. */
  readonly podUid?: string;
}

/** The remote control of a synthetic runtime. A change is visible to every call that arrives after it resolved. */
export interface SyntheticControl {
  /** Every pod there is. */
  pods(): Promise<readonly SyntheticPod[]>;
  addPods(options: AddPodsOptions): Promise<readonly SyntheticPod[]>;
  /** Ends running containers, and answers with them as they are now. */
  kill(selection: ContainerSelection, options?: KillOptions): Promise<readonly SyntheticContainer[]>;
  /** Starts containers that were created only. */
  start(selection: ContainerSelection): Promise<readonly SyntheticContainer[]>;
  /** Puts a running container of the next attempt beside each exited one, and answers with the new ones. */
  restart(selection: ContainerSelection): Promise<readonly SyntheticContainer[]>;
  /** Removes exited and created containers; a running one is ended first, as RemoveContainer does. */
  remove(selection: ContainerSelection): Promise<readonly SyntheticContainer[]>;
  /** Ends the containers and the sandbox of the pods; all of it stays listed. */
  stopPods(uids: readonly string[]): Promise<void>;
  /** Removes the pods with all that is in them. */
  removePods(uids: readonly string[]): Promise<void>;
  /** Sets what is given and leaves the rest as it is. */
  setFaults(faults: Partial<SyntheticFaults>): Promise<void>;
  /** Sends an event to every reader, whatever the faults say. */
  emitEvent(event: MadeUpEvent): Promise<void>;
  /** Ends every stream of events with Unavailable. */
  breakEventStreams(): Promise<void>;
  counters(): Promise<SyntheticCounters>;
}
