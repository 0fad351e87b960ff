import { type PodRef } from '#kube/pod/pod-ref.js';
import { type PodOwner } from '../observed/runtime.js';
import { type Stamp } from '#base/time/clock.js';

/**
 * What made the generator list: the first relist, the period, an event of the runtime, or a request for one
 * pod.
 *
 * A request comes from a finished sync, from a waiter on the cache, or from a retry.
 */
export type Trigger = 'initial' | 'relist' | 'event' | 'request';

interface EventBase {
  readonly trigger: Trigger;
  /** The state that the event was derived from is at least as new as this. */
  readonly stamp: Stamp;
  /** Wall-clock milliseconds at which the event was made, for people. */
  readonly observedAtMs: number;
}

/** A change of one container, or of one sandbox treated as a container. */
export interface ContainerLifecycleEvent extends EventBase {
  readonly type: 'ContainerStarted' | 'ContainerDied' | 'ContainerRemoved' | 'ContainerChanged';
  readonly kind: 'container' | 'sandbox';
  readonly pod: PodRef;
  /** The pod's owner, in the list that showed the change. */
  readonly owner?: PodOwner;
  readonly containerId: string;
  readonly containerName: string;
  /** The exit code of a container that died, if its status was still available. */
  readonly exitCode: number | undefined;
  /** The runtime's reason: Completed, Error, OOMKilled … */
  readonly reason: string | undefined;
  /** When it happened by the runtime's clock, nanoseconds since the epoch; undefined if not reported. */
  readonly occurredAtNs: bigint | undefined;
}

/**
 * A request to check this pod again: after a re-inspection without a change, or in place of folded events.
 */
export interface PodSyncEvent extends EventBase {
  readonly type: 'PodSync';
  readonly pod: PodRef;
  /** How many events of this pod it replaces; 0 after a re-inspection. */
  readonly folded: number;
}

/** A condition set with `watchCondition` was met and is no longer watched. */
export interface ConditionMetEvent extends EventBase {
  readonly type: 'ConditionMet';
  readonly pod: PodRef;
  readonly conditionKey: string;
}

/** A request to check every pod again: events of more pods were missed than the queue could remember. */
export interface ResyncEvent extends EventBase {
  readonly type: 'Resync';
  /** How many events it replaces. */
  readonly folded: number;
}

/** Any event that a subscriber of the generator receives. */
export type PodLifecycleEvent = ContainerLifecycleEvent | PodSyncEvent | ConditionMetEvent | ResyncEvent;
