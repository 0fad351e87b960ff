import { type PodRef } from '#kube/pod/pod-ref.js';
import { type PodOwner } from '../observed/runtime.js';
import { type Stamp } from '#base/time/clock.js';

/**
 * What made the generator look: the first relist after its start, the period, an event of the runtime, or a
 * request for that one pod (a sync of ours, a waiter on the cache, a retry).
 */
export type Trigger = 'initial' | 'relist' | 'event' | 'request';

interface EventBase {
  readonly trigger: Trigger;
  /** The state that the event was found in is at least as new as this. */
  readonly stamp: Stamp;
  /** Wall-clock milliseconds at which the event was made, for people. */
  readonly observedAtMs: number;
}

/** A change of one container, or of one sandbox taken as a container. */
export interface ContainerLifecycleEvent extends EventBase {
  readonly type: 'ContainerStarted' | 'ContainerDied' | 'ContainerRemoved' | 'ContainerChanged';
  readonly kind: 'container' | 'sandbox';
  readonly pod: PodRef;
  /** Whose the pod is, from the look that the change was found in. */
  readonly owner?: PodOwner;
  readonly containerId: string;
  readonly containerName: string;
  /** Of a container that died, when its status was still to be had. */
  readonly exitCode: number | undefined;
  /** The runtime's reason: Completed, Error, OOMKilled … */
  readonly reason: string | undefined;
  /** When it happened by the runtime's clock, nanoseconds since the epoch; undefined when it did not say. */
  readonly occurredAtNs: bigint | undefined;
}

/** "Look at this pod again": after a re-inspection without a change, or in place of events that were folded. */
export interface PodSyncEvent extends EventBase {
  readonly type: 'PodSync';
  readonly pod: PodRef;
  /** How many events of this pod stand behind it; 0 after a re-inspection. */
  readonly folded: number;
}

/** A condition set with `watchCondition` was met and is no longer watched. */
export interface ConditionMetEvent extends EventBase {
  readonly type: 'ConditionMet';
  readonly pod: PodRef;
  readonly conditionKey: string;
}

/** "Look at every pod again": events of more pods were missed than the queue could remember. */
export interface ResyncEvent extends EventBase {
  readonly type: 'Resync';
  /** How many events stand behind it. */
  readonly folded: number;
}

/** Whatever a subscriber of the generator receives. */
export type PodLifecycleEvent = ContainerLifecycleEvent | PodSyncEvent | ConditionMetEvent | ResyncEvent;
