import { type NodePod } from '#kube/pod/node-pod.js';
import { type ObservedPod } from '#watch';
import { type Logger } from '#base/log/logger.js';
import { type PodWorkers } from '../workers/pod-workers.js';
import { type ResizeObstacle, type Shortage } from '../admission/admit-pod.js';
import { type DesiredPods, type Rejection, type Wait } from './desired-pods.js';
import { type Housekeeping } from './housekeeping.js';
import { type NodeClaims } from '../admission/node-claims.js';

/** Whether a pod may run here. */
export type AdmissionAnswer =
  | { readonly admit: true }
  /** `shortages`: all that the node is short of, where that alone keeps the pod away. */
  | ({ readonly admit: false; readonly shortages?: readonly Shortage[] } & Rejection);

/** How a pod ended. */
export interface KnownEnd {
  readonly isFinished: boolean;
  /** What it was to run then: see {@link toRunDefinition}. */
  readonly definition?: string;
}

/** What {@link PodHandlers} needs. */
export interface PodHandlersOptions {
  readonly logger?: Logger;
  readonly desired: DesiredPods;
  readonly workers: Pick<
    PodWorkers,
    'updatePod' | 'isKnown' | 'isTerminationRequested' | 'isKnownTerminated'
  >;
  /** A pod as it was looked at last; undefined for one of which nothing is there. */
  readonly findObserved: (uid: string) => ObservedPod | undefined;
  readonly housekeeping: Pick<Housekeeping, 'run' | 'isTornDown'> & Partial<Pick<Housekeeping, 'isSettled'>>;
  readonly seenAllSources: () => boolean;
  /** What keeps a pod from running whether it runs or not: a pod of somebody else's. Nothing does unless told. */
  readonly findObstacle?: (pod: NodePod) => Rejection | undefined;
  /**
   * What the node does not let a pod have, for the reason {@link POD_FORBIDDEN}: also of a pod that runs, which is ended
   * then. Nothing is forbidden unless told.
   */
  readonly findForbidden?: (pod: NodePod) => Rejection | undefined;
  /** `active`: of every admitted pod that has not ended, without this one. Every pod is admitted unless told. */
  readonly admit?: (pod: NodePod, active: NodeClaims) => AdmissionAnswer;
  /** What the node is short of for a pod beside those that are `active`; only words go by it, and there are none unless told. */
  readonly findShortages?: (pod: NodePod, active: NodeClaims) => readonly Shortage[];
  /** Why a pod that runs cannot have the resources that an edit gives it now (default: nothing hinders). */
  readonly findResizeObstacle?: (
    before: NodePod,
    after: NodePod,
    active: NodeClaims,
  ) => ResizeObstacle | undefined;
  /** A pod goes on with the resources that it has, for that reason: once for each edit. */
  readonly onResizeHeld?: (pod: NodePod, obstacle: ResizeObstacle) => void;
  /** How a pod ended under an agent before this one, or under this one; undefined for one that has not ended. */
  readonly findEnd?: (uid: string) => KnownEnd | undefined;
  /** A pod was not admitted: its status is to say so. `isEnded`: it ran, and its end is under way that says it. */
  readonly onRejected?: (pod: NodePod, rejection: Rejection, isEnded: boolean) => void;
  /** A pod is ended so that one that is critical for the node can be here, for this reason. */
  readonly onPreempted?: (pod: NodePod, end: Rejection) => void;
  /**
   * A pod waits for room that others are giving up: its status is to say so. Told when that begins, when what it waits for
   * changes, and when the pod is edited; `isNews`: it waits for some pod that it was not said to wait for yet.
   */
  readonly onWaiting?: (pod: NodePod, wait: Wait, isNews: boolean) => void;
  /** Whether the time of a pod is up that was told to wait (default: that of none is). */
  readonly isPastDeadline?: (pod: NodePod) => boolean;
  /** A pod that was told to wait is not to come after all, or has ended elsewhere: what its status says is no longer true. */
  readonly onWaitGivenUp?: (pod: NodePod) => void;
  /** A pod that was rejected may run now: what its status says is no longer true. */
  readonly onRejectionLifted?: (pod: NodePod) => void;
  /** Whether a pod whose status differs from ours needs a sync for it (default: none does). */
  readonly needsReconcile?: (pod: NodePod) => boolean;
}
