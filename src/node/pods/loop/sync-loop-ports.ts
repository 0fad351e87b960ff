import { type PodUpdate } from '#kube/pod/pod-update.js';
import { type ObservedPod, type PodCache, type PodLifecycleEvent, type PodStatus } from '#watch';
import { type ProbeResult } from '../../probes/probe-result.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { type PodWorkers } from '../workers/pod-workers.js';
import { type DesiredPods } from './desired-pods.js';
import { type RuntimeState } from './runtime-state.js';
import { type SyncHandlers } from './pod-handlers.js';

/** Takes up what probes find out. */
export interface ProbeReadiness {
  setContainerReadiness(podUid: string, containerId: string, ready: boolean): unknown;
  setContainerStartup(podUid: string, containerId: string, started: boolean): unknown;
}

/** Removes dead containers of a pod, as one more has died; those of ours alone. */
export interface DeadContainerDeleter {
  /**
   * Of the container that died and its forerunners of the same name the newest dead one stays, or as many as the policy
   * says; with `removeAll` none of the pod's dead ones does. Returns at once, and never throws.
   */
  deleteContainersBeyondNewest(work: {
    readonly status: PodStatus;
    readonly exitedContainerId: string;
    readonly removeAll: boolean;
  }): void;
}

/** What {@link SyncLoop} needs. */
export interface SyncLoopOptions {
  readonly clock: Clock;
  readonly logger?: Logger;
  /** What the sources want; an update counts as dealt with when the next one is asked for. */
  readonly updates: (signal: AbortSignal) => AsyncIterable<PodUpdate>;
  /** A subscription of the event generator, for this loop alone. */
  readonly events: AsyncIterable<PodLifecycleEvent>;
  /** A subscription of the probes, for this loop alone. */
  readonly probeResults: AsyncIterable<ProbeResult>;
  readonly handlers: SyncHandlers;
  readonly desired: DesiredPods;
  readonly workers: Pick<
    PodWorkers,
    'takeDue' | 'nextDueInMs' | 'retry' | 'isKnown' | 'shouldPodContentBeRemoved'
  >;
  readonly cache: Pick<PodCache, 'get'>;
  /** A pod as it was looked at last, which may be newer than what the cache has; undefined for one that is not there. */
  readonly findObserved: (uid: string) => ObservedPod | undefined;
  readonly runtimeState: Pick<RuntimeState, 'errors' | 'isPending'>;
  readonly seenAllSources: () => boolean;
  readonly readiness: ProbeReadiness;
  readonly deadContainers: DeadContainerDeleter;
  /** Between two looks for pods that are due, unless one is due before (default: 1 s). */
  readonly syncPeriodMs?: number;
  /** Between two housekeepings as long as something happens or is left to do, and 30 s otherwise (default: 2 s). */
  readonly housekeepingPeriodMs?: number;
  /** Work between two turns of the event loop (default: 10 ms). */
  readonly sliceMs?: number;
  /** Pods whose events are kept apart while they wait; 10,000 unless told. */
  readonly podCapacity?: number;
  readonly yieldToLoop?: () => Promise<unknown>;
}
