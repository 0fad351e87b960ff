import { type NodePod } from '#kube/pod/node-pod.js';
import { type ObservedPod } from '#watch';
import { type Logger } from '#base/log/logger.js';
import { type PodWorkers } from '../workers/pod-workers.js';
import { type ResizeObstacle, type Shortage } from '../admission/admit-pod.js';
import { type DesiredPods, type Rejection, type Wait } from './desired-pods.js';
import { type Housekeeping } from './housekeeping.js';
import { type NodeClaims } from '../admission/node-claims.js';
import { type Publisher } from '#base/channels/publishing-channel.js';

/** Whether a pod may run here. */
export type AdmissionAnswer =
  | { readonly admit: true }
  /** `shortages`: everything that the node is short of, if only that keeps the pod away. */
  | ({ readonly admit: false; readonly shortages?: readonly Shortage[] } & Rejection);

/** How a pod ended. */
export interface KnownEnd {
  readonly isFinished: boolean;
  /** What the pod was to run then: see {@link toRunDefinition}. */
  readonly definition?: string;
}

/** What {@link PodHandlers} needs. */
export interface PodHandlersOptions extends Publisher {
  readonly logger?: Logger;
  readonly desired: DesiredPods;
  readonly workers: Pick<
    PodWorkers,
    'updatePod' | 'isKnown' | 'isTerminationRequested' | 'isKnownTerminated'
  >;
  /** A pod as last listed; undefined if the runtime has nothing of it. */
  readonly findObserved: (uid: string) => ObservedPod | undefined;
  readonly housekeeping: Pick<Housekeeping, 'run' | 'isTornDown'> & Partial<Pick<Housekeeping, 'isSettled'>>;
  readonly seenAllSources: () => boolean;
  /** What keeps a pod from running whether it runs now or not, such as another owner (default: nothing). */
  readonly findObstacle?: (pod: NodePod) => Rejection | undefined;
  /**
   * What the node forbids a pod to have, with the reason {@link POD_FORBIDDEN}; a running pod is ended
   * (default: nothing).
   */
  readonly findForbidden?: (pod: NodePod) => Rejection | undefined;
  /**
   * Decides on a pod; `active`: the claims of all other admitted pods that have not ended (default: every pod
   * is admitted).
   */
  readonly admit?: (pod: NodePod, active: NodeClaims) => AdmissionAnswer;
  /** What the node lacks for a pod beside the `active` ones; used only for messages (default: nothing). */
  readonly findShortages?: (pod: NodePod, active: NodeClaims) => readonly Shortage[];
  /** Why a pod that runs cannot have the resources that an edit gives it now (default: nothing hinders). */
  readonly findResizeObstacle?: (
    before: NodePod,
    after: NodePod,
    active: NodeClaims,
  ) => ResizeObstacle | undefined;
  /** A pod keeps its present resources for that reason; called once for each edit. */
  readonly onResizeHeld?: (pod: NodePod, obstacle: ResizeObstacle) => void;
  /** How a pod ended under this agent or one before it; undefined for a pod that has not ended. */
  readonly findEnd?: (uid: string) => KnownEnd | undefined;
  /**
   * A pod was not admitted, and its status has to say so. `isEnded`: it ran, and its end is under way and
   * reports that.
   */
  readonly onRejected?: (pod: NodePod, rejection: Rejection, isEnded: boolean) => void;
  /** A pod is ended for this reason, to make room for one that is critical for the node. */
  readonly onPreempted?: (pod: NodePod, end: Rejection) => void;
  /**
   * A pod waits for room that others are freeing, or for its gates, and its status has to say so.
   *
   * Called when the wait begins, when what it waits for changes, and when the pod is edited. `isNews`: it
   * waits for a pod that was not reported yet.
   */
  readonly onWaiting?: (pod: NodePod, wait: Wait, isNews: boolean) => void;
  /** Whether the deadline of a waiting pod has passed (default: it never does). */
  readonly isPastDeadline?: (pod: NodePod) => boolean;
  /** A waiting pod will not start after all, or has ended elsewhere: its status is out of date. */
  readonly onWaitGivenUp?: (pod: NodePod) => void;
  /** A rejected pod may run now: its status is out of date. */
  readonly onRejectionLifted?: (pod: NodePod) => void;
  /** Whether a pod needs a sync because its status differs from the agent's (default: none does). */
  readonly needsReconcile?: (pod: NodePod) => boolean;
}
