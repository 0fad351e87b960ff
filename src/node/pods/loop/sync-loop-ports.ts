import { type PodUpdate } from '#kube/pod/pod-update.js';
import { type ObservedPod, type PodCache, type PodLifecycleEvent, type PodStatus } from '#watch';
import { type ProbeResult } from '../../probes/probe-result.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { type PodWorkers } from '../workers/pod-workers.js';
import { type DesiredPods } from './desired-pods.js';
import { type RuntimeState } from './runtime-state.js';
import { type SyncHandlers } from './pod-handlers.js';

/** Applies the results of probes. */
export interface ProbeReadiness {
  setContainerReadiness(podUid: string, containerId: string, ready: boolean): unknown;
  setContainerStartup(podUid: string, containerId: string, started: boolean): unknown;
}

/** Removes dead containers of a pod after another one has died; only containers that this agent owns. */
export interface DeadContainerDeleter {
  /**
   * Removes all dead predecessors of a container but the newest, or as many as the policy keeps.
   *
   * With `removeAll` it removes all dead containers of the pod. Returns at once, and never throws.
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
  /** The changes of the sources; requesting the next update marks the last one as processed. */
  readonly updates: (signal: AbortSignal) => AsyncIterable<PodUpdate>;
  /** The loop's own subscription to the event generator. */
  readonly events: AsyncIterable<PodLifecycleEvent>;
  /** The loop's own subscription to the probes. */
  readonly probeResults: AsyncIterable<ProbeResult>;
  readonly handlers: SyncHandlers;
  readonly desired: DesiredPods;
  readonly workers: Pick<
    PodWorkers,
    'takeDue' | 'nextDueInMs' | 'retry' | 'isKnown' | 'shouldPodContentBeRemoved'
  >;
  readonly cache: Pick<PodCache, 'get'>;
  /** A pod as last listed, perhaps newer than the cache; undefined if it does not exist. */
  readonly findObserved: (uid: string) => ObservedPod | undefined;
  readonly runtimeState: Pick<RuntimeState, 'errors' | 'isPending'>;
  readonly seenAllSources: () => boolean;
  readonly readiness: ProbeReadiness;
  readonly deadContainers: DeadContainerDeleter;
  /** Between two checks for due pods, unless one is due earlier (default: 1 s). */
  readonly syncPeriodMs?: number;
  /** Between two housekeepings while something happens or is left to do; 30 s otherwise (default: 2 s). */
  readonly housekeepingPeriodMs?: number;
  /** Work between two turns of the event loop (default: 10 ms). */
  readonly sliceMs?: number;
  /** Maximum of pods whose events are buffered separately (default: 10,000). */
  readonly podCapacity?: number;
  readonly yieldToLoop?: () => Promise<unknown>;
}
