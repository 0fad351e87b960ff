import { isCriticalPod } from '#kube/pod/critical-pod.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { POD_FORBIDDEN } from '#kube/node/node-policy.js';
import { isClusterPod } from '#kube/pod/static-pod.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { publishTo } from '#base/channels/publishing-channel.js';
import { podRejected } from '#base/channels/admission-channels.js';
import { podAdded } from '#base/channels/start-channels.js';
import { podRefOf } from '../workers/pod-demand.js';
import { type ResizeObstacle, type Shortage } from '../admission/admit-pod.js';
import { ActivePods } from '../admission/active-pods.js';
import { asksForNewRun, toRunDefinition } from './asks-for-new-run.js';
import { describeWait } from '../admission/describe-wait.js';
import { SCHEDULING_GATED } from '#kube/pod/v1-pod-status.js';
import { type Rejection, type Wait } from './desired-pods.js';
import { FOREIGN_POD } from '../admission/foreign-pods.js';
import { isRunning } from './housekeeping-owner.js';
import { PendingResizes, type PendingResizesOptions } from '../containers/pending-resizes.js';
import { RoomMaker, type RoomPlan } from '../admission/make-room.js';
import { type NodeClaims } from '../admission/node-claims.js';
import { type KnownEnd, type PodHandlersOptions } from './pod-handlers-options.js';

/** What the sync loop does with its inputs: the kubelet's handlers. None of them waits for a pod. */
export interface SyncHandlers {
  handlePodAdditions(pods: readonly NodePod[]): void;
  /** Also deletions: pods with a deletionTimestamp. */
  handlePodUpdates(pods: readonly NodePod[]): void;
  handlePodRemoves(pods: readonly NodePod[]): void;
  handlePodReconcile(pods: readonly NodePod[]): void;
  handlePodSyncs(pods: readonly NodePod[]): void;
  handlePodCleanups(): void;
  /** Whether the last clean-up left nothing to do (default: it did leave something). */
  readonly isCleanedUp?: boolean;
}

/** Keeps the desired pods up to date and passes changes to the workers. */
export class PodHandlers implements SyncHandlers {
  readonly #options: PodHandlersOptions;
  readonly #logger: Logger;
  readonly #active = new ActivePods({ findActive: (uid) => this.#findActive(uid) });
  /** Pods that nobody wants any more but that keep their resources until they have ended. */
  readonly #leaving = new Map<string, NodePod>();
  readonly #held: PendingResizes;
  readonly #room: RoomMaker;
  #willJudgeRejected = false;

  constructor(options: PodHandlersOptions) {
    const { desired, workers, findResizeObstacle, onResizeHeld, onPreempted, onWaitGivenUp } = options;
    this.#options = options;
    this.#logger = options.logger ?? SILENT_LOGGER;
    const { channels } = options;
    const logger = this.#logger;
    this.#room = new RoomMaker({ desired, workers, onPreempted, onWaitGivenUp, channels, logger });
    const findObstacle: PendingResizesOptions['findObstacle'] = (before, wish) =>
      findResizeObstacle?.(before, wish, this.#active.claimsBeside(wish.metadata.uid));
    this.#held = new PendingResizes({
      desired,
      workers,
      logger: this.#logger,
      findObstacle,
      onHeld: onResizeHeld,
    });
  }

  /** Why a pod does not have the resources of its last edit; undefined when it has. */
  resizeObstacle(uid: string): ResizeObstacle | undefined {
    return this.#held.obstacleOf(uid);
  }

  /** To be called when it changes whether the pod has ended. */
  podEndChanged(uid: string): void {
    if (!this.#isAtWork(uid)) this.#leaving.delete(uid);
    this.#active.changed(uid);
    this.#judgeRejectedSoon();
  }

  handlePodAdditions(pods: readonly NodePod[]): void {
    const { workers } = this.#options;
    for (const pod of pods) {
      this.#want(pod);
      const { containers, hostNetwork } = pod.spec;
      const { uid } = pod.metadata;
      publishTo(this.#options.channels, podAdded, {
        uid,
        containers: containers.length,
        hasNetwork: hostNetwork !== true,
      });
      // A pod that is ending, or is to end, frees what it holds, and is judged when it comes again.
      const isJudged =
        !workers.isTerminationRequested(pod.metadata.uid) || this.#findForbidden(pod) !== undefined;
      if (isJudged && !isDeleted(pod) && !this.#admit(pod)) continue;
      this.#ask({ type: 'create', pod });
    }
  }

  handlePodUpdates(pods: readonly NodePod[]): void {
    const { desired, workers, onWaiting } = this.#options;
    for (const wish of pods) {
      const { uid } = wish.metadata;
      const before = desired.find(uid);
      const pod = this.#held.adapt(wish, before);
      const isDeletion = isDeleted(pod);
      const wasRejected = desired.findRejection(uid) !== undefined;
      this.#want(pod);
      // Its status may name containers that the edit has removed.
      const wait = desired.findWait(uid);
      if (wait !== undefined && before !== pod && !isDeletion) onWaiting?.(pod, wait, false);
      // The edit may ask for less than before.
      this.#judgeRejectedSoon();
      // The end that was reported to an API server is final.
      if (wasRejected && !isDeletion && isClusterPod(pod)) continue;
      // A running pod is judged only for what no pod may have, as an edit may ask for that.
      const isJudged = wasRejected || this.#findForbidden(pod) !== undefined;
      if (isJudged && !isDeletion && !this.#admit(pod)) continue;
      // An edit keeps the uid, so an edit is the only way to run a pod again that has run to its end. A pod
      // of an API server runs only once.
      const hasEnded = workers.isTerminationRequested(uid) && !isDeletion && !isClusterPod(pod);
      const mayRunAgain = before !== undefined && (wasRejected || isDeleted(before));
      const isAnew = hasEnded && (mayRunAgain || (before !== undefined && asksForNewRun(before, pod)));
      this.#ask({ type: isAnew || !workers.isKnown(uid) ? 'create' : 'update', pod });
    }
  }

  handlePodRemoves(pods: readonly NodePod[]): void {
    const { desired, workers, seenAllSources } = this.#options;
    for (const pod of pods) {
      const { uid } = pod.metadata;
      const wasRejected = desired.findRejection(uid) !== undefined;
      if (!wasRejected && this.#isAtWork(uid)) this.#leaving.set(uid, desired.find(uid) ?? pod);
      desired.remove(uid);
      this.#held.forget(uid);
      this.#active.changed(uid);
      if (wasRejected) continue;
      // A pod that waited itself has claimed room that it did not have yet.
      this.#judgeRejectedSoon();
      if (seenAllSources()) workers.updatePod({ type: 'kill', pod });
      // Another source may still want it. If none does, housekeeping ends it once all sources were read.
      else this.#logger.info('Pod is not ended before every source was seen', { pod: podRefOf(pod) }, 2);
    }
  }

  handlePodReconcile(pods: readonly NodePod[]): void {
    const { desired, needsReconcile } = this.#options;
    for (const wish of pods) {
      const pod = this.#held.adapt(wish, desired.find(wish.metadata.uid));
      this.#want(pod);
      const isRejected = desired.findRejection(pod.metadata.uid) !== undefined;
      if (!isRejected && needsReconcile?.(pod) === true) this.#ask({ type: 'sync', pod });
    }
  }

  handlePodSyncs(pods: readonly NodePod[]): void {
    const { desired } = this.#options;
    for (const pod of pods) {
      const { uid } = pod.metadata;
      // A pod that was forbidden while it ran is still being ended.
      const isWorkedOn = desired.findRejection(uid) === undefined || this.#isAtWork(uid);
      if (isWorkedOn) this.#ask({ type: 'sync', pod });
    }
  }

  handlePodCleanups(): void {
    this.#options.housekeeping.run();
  }

  get isCleanedUp(): boolean {
    return this.#options.housekeeping.isSettled ?? false;
  }

  /**
   * Judges rejected pods again: something other than a pod has changed that they may have been rejected for.
   */
  judgeRejected(): void {
    this.#judgeRejectedSoon();
  }

  /** Judges a pod that has ended and is to run again, perhaps with other requests; false: it is rejected. */
  readmit(pod: NodePod): boolean {
    return this.#admit(pod);
  }

  /** Leaves to housekeeping a pod that comes again before the remains of its former life are gone. */
  #ask(request: { readonly type: 'create' | 'update' | 'sync'; readonly pod: NodePod }): void {
    const { desired, workers, housekeeping } = this.#options;
    const { uid } = request.pod.metadata;
    if (desired.isHeld(uid) && !isDeleted(request.pod) && !this.#isOverdue(request.pod)) return;
    desired.release(uid);
    if (!workers.isKnown(uid) && housekeeping.isTornDown(uid)) {
      const fields = { pod: podRefOf(request.pod), podUID: uid, updateType: request.type };
      this.#logger.info(
        'Pod is wanted again before its remains are gone: it starts once they are',
        fields,
        3,
      );
    } else workers.updatePod(request);
  }

  /** A waiting pod's deadline passes as well: the workers then end it before anything of it starts. */
  #isOverdue(pod: NodePod): boolean {
    const { housekeeping, isPastDeadline } = this.#options;
    return isPastDeadline?.(pod) === true && !housekeeping.isTornDown(pod.metadata.uid);
  }

  #want(pod: NodePod): void {
    this.#options.desired.set(pod);
    this.#leaving.delete(pod.metadata.uid);
    this.#active.changed(pod.metadata.uid);
  }

  /** False: it is rejected, and its status says so. */
  #admit(pod: NodePod): boolean {
    const { desired, onRejected, onRejectionLifted, onWaitGivenUp } = this.#options;
    const { uid } = pod.metadata;
    const wasRejected = desired.findRejection(uid) !== undefined;
    desired.setRejection(uid, undefined);
    this.#active.changed(uid);
    if (this.#isGated(pod)) {
      if (wasRejected) onRejectionLifted?.(pod);
      this.#holdForGates(pod);
      return false;
    }
    const { rejection, shortages = [], isForLeaving = false } = this.#judge(pod);
    const plan = this.#planRoom(pod, shortages);
    if (isForLeaving || plan !== undefined) {
      if (wasRejected) onRejectionLifted?.(pod);
      this.#hold(pod, plan);
      if (plan !== undefined) this.#room.carryOut(pod, plan, shortages);
      return false;
    }
    // If its API server says that it has ended, its status must not change because of the wait.
    const isOver = rejection !== undefined || this.#findLastingEnd(uid) !== undefined;
    if (desired.isHeld(uid) && isOver) onWaitGivenUp?.(pod);
    desired.release(uid);
    if (rejection === undefined) {
      if (wasRejected) onRejectionLifted?.(pod);
      return true;
    }
    desired.setRejection(uid, rejection);
    publishTo(this.#options.channels, podRejected, rejection);
    this.#logger.warn('Pod is rejected', { pod: podRefOf(pod), podUID: uid, ...rejection });
    const isEnded = rejection.reason === POD_FORBIDDEN && (this.#runsAlready(uid) || this.#isAtWork(uid));
    if (isEnded) this.#endForbidden(pod, rejection);
    onRejected?.(pod, rejection, isEnded);
    return false;
  }

  /** Whether its gates still keep a pod away: what has begun here is past them, whatever an edit says. */
  #isGated(pod: NodePod): boolean {
    const { findObserved, housekeeping } = this.#options;
    if ((pod.spec.schedulingGates ?? []).length === 0 || this.#findForbidden(pod) !== undefined) return false;
    const { uid } = pod.metadata;
    if (this.#findLastingEnd(uid) !== undefined || this.#isAtWork(uid)) return false;
    const { sandboxes = [], containers = [] } = findObserved(uid) ?? {};
    return housekeeping.isTornDown(uid) || sandboxes.length + containers.length === 0;
  }

  /** Makes a pod wait until an edit takes its gates off. */
  #holdForGates(pod: NodePod): void {
    const { desired, onWaiting } = this.#options;
    const { uid: podUID } = pod.metadata;
    const gates = (pod.spec.schedulingGates ?? []).map(({ name }) => name);
    const before = desired.findWait(podUID);
    const wait: Wait = { message: SCHEDULING_GATED.message, uids: [], isGated: true };
    desired.hold(podUID, wait);
    this.#active.changed(podUID);
    if (before?.isGated === true) return;
    this.#logger.info('Pod waits for its scheduling gates', { pod: podRefOf(pod), podUID, gates });
    onWaiting?.(pod, wait, true);
  }

  /** Makes a pod wait for its room, until the pods that leave or that are ended for it have ended. */
  #hold(pod: NodePod, { victims, leaving }: RoomPlan = { victims: [], leaving: [] }): void {
    const { desired, findShortages, onWaiting } = this.#options;
    const { uid: podUID } = pod.metadata;
    const ending = [...this.#leaving.values(), ...leaving, ...victims];
    const shortages = findShortages?.(pod, this.#active.claimsBeside(podUID)) ?? [];
    const wait = describeWait(pod, ending, shortages);
    const before = desired.findWait(podUID);
    const told = new Set(before?.uids);
    const isNews = before === undefined || wait.uids.some((uid) => !told.has(uid));
    desired.hold(podUID, { ...wait, uids: [...new Set([...told, ...wait.uids])] });
    if (before?.message === wait.message) return;
    const holders = ending.filter(({ metadata }) => wait.uids.includes(metadata.uid)).map(podRefOf);
    this.#logger.info('Pod waits for room', {
      pod: podRefOf(pod),
      podUID,
      message: wait.message,
      pods: holders,
    });
    onWaiting?.(pod, wait, isNews);
  }

  /** The pods to end so that this one has room; undefined when ending pods would not help. */
  #planRoom(pod: NodePod, shortages: readonly Shortage[]): RoomPlan | undefined {
    if (shortages.length === 0) return undefined;
    return this.#room.plan(pod, this.#claimsThatStay(pod.metadata.uid), shortages);
  }

  /** What all other pods claim, less what is being freed anyway. */
  #claimsThatStay(uid: string): NodeClaims {
    return this.#active.claimsBeside(uid, this.#leaving.keys());
  }

  /** The pod keeps its share of the node until it has ended. */
  #endForbidden(pod: NodePod, { reason, message }: Rejection): void {
    this.#leaving.set(pod.metadata.uid, pod);
    this.#active.changed(pod.metadata.uid);
    const statusOverride = { phase: 'Failed', reason, message } as const;
    this.#options.workers.updatePod({ type: 'kill', pod, kill: { statusOverride } });
  }

  /**
   * A pod has ended, is gone, or asks for less; judges once for all pods to which that happens at the same
   * time.
   */
  #judgeRejectedSoon(): void {
    const { desired } = this.#options;
    const isNobodyWaiting =
      desired.rejected().length === 0 && desired.held().length === 0 && this.#held.size === 0;
    if (this.#willJudgeRejected || isNobodyWaiting) return;
    this.#willJudgeRejected = true;
    queueMicrotask(() => {
      this.#willJudgeRejected = false;
      // Running pods go before waiting ones, as they were there first.
      for (const wish of this.#held.wishes()) if (this.#held.fits(wish)) this.handlePodUpdates([wish]);
      for (const pod of [...desired.held(), ...desired.rejected()]) {
        try {
          this.#judgeAgain(pod);
        } catch (error) {
          this.#logger.error('Rejected pod cannot be judged again', error, { pod: podRefOf(pod) });
        }
      }
    });
  }

  #judgeAgain(pod: NodePod): void {
    const isHeld = this.#options.desired.isHeld(pod.metadata.uid);
    if (!isHeld && (isClusterPod(pod) || !this.#mayCome(pod))) return;
    if (!this.#admit(pod)) return;
    this.#logger.info('Pod is admitted after all', { pod: podRefOf(pod), podUID: pod.metadata.uid });
    this.#ask({ type: 'create', pod });
  }

  /** Whether a rejected pod has room now, or others can be ended for it. */
  #mayCome(pod: NodePod): boolean {
    const { rejection, shortages = [], isForLeaving = false } = this.#judge(pod);
    if (rejection === undefined) return !isForLeaving;
    return this.#planRoom(pod, shortages) !== undefined;
  }

  /**
   * Why a pod may not run, if so, and what the node is short of if that is the only reason.
   *
   * `isForLeaving`: only pods that nobody wants any more keep it away. A kubelet admits it then, as they are
   * gone for the kubelet and the scheduler; here it waits until they have ended. A pod that is judged again
   * when they have ended need not wait.
   */
  #judge(pod: NodePod): {
    readonly rejection?: Rejection;
    readonly shortages?: readonly Shortage[];
    readonly isForLeaving?: boolean;
  } {
    const { admit, findObstacle } = this.#options;
    const { uid } = pod.metadata;
    const obstacle = findObstacle?.(pod);
    if (obstacle?.reason === FOREIGN_POD) return { rejection: obstacle };
    const forbidden = this.#findForbidden(pod);
    if (forbidden !== undefined) return { rejection: forbidden };
    // An ended pod takes nothing of the node, and a rejection must not replace how it ended.
    if (this.#runsAlready(uid) || this.#findLastingEnd(uid) !== undefined) return {};
    if (obstacle !== undefined) return { rejection: obstacle };
    const atOnce = admit?.(pod, this.#active.claimsBeside(uid)) ?? { admit: true };
    if (atOnce.admit) return {};
    const mayWait = this.#leaving.size > 0 && (isClusterPod(pod) || isCriticalPod(pod));
    const answer = (mayWait ? admit?.(pod, this.#claimsThatStay(uid)) : undefined) ?? atOnce;
    if (answer.admit) return { isForLeaving: true };
    const { reason, message, shortages = [] } = answer;
    return { rejection: { reason, message }, shortages };
  }

  /** A rejection must not replace how a pod ended, unless it is to run again. */
  #findForbidden(pod: NodePod): Rejection | undefined {
    const forbidden = this.#options.findForbidden?.(pod);
    if (forbidden === undefined) return undefined;
    return this.#findLastingEnd(pod.metadata.uid)?.definition === toRunDefinition(pod)
      ? undefined
      : forbidden;
  }

  /** The previous agent admitted what runs, so it stays. */
  #runsAlready(uid: string): boolean {
    const observed = this.#options.findObserved(uid);
    return observed !== undefined && isRunning(observed);
  }

  #findActive(uid: string): NodePod | undefined {
    const { desired, workers } = this.#options;
    const leaving = this.#leaving.get(uid);
    if (leaving !== undefined) return leaving;
    const hasEnded = workers.isKnownTerminated(uid) || this.#findLastingEnd(uid)?.isFinished === true;
    if (desired.findWait(uid)?.isGated === true) return undefined;
    return hasEnded || desired.findRejection(uid) !== undefined ? undefined : desired.find(uid);
  }

  #isAtWork(uid: string): boolean {
    const { workers } = this.#options;
    return workers.isKnown(uid) && !workers.isKnownTerminated(uid);
  }

  /** Undefined also for a pod that was removed after its end and comes again: it is to run. */
  #findLastingEnd(uid: string): KnownEnd | undefined {
    const { findEnd, housekeeping } = this.#options;
    return housekeeping.isTornDown(uid) ? undefined : findEnd?.(uid);
  }
}

function isDeleted({ metadata }: NodePod): boolean {
  return metadata.deletionTimestamp !== undefined;
}
