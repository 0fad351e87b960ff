import { type PodRef } from '#kube/pod/pod-ref.js';
import { type PodCache, type PodStatus } from '#watch';
import { type Clock, type Stamp } from '#base/time/clock.js';
import { linkAbort, type LinkedAbort } from '#base/async/linked-abort.js';
import { hasCode } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { isHeard, publishTo, type Publisher } from '#base/channels/publishing-channel.js';
import { podSyncEnded } from '#base/channels/worker-channels.js';
import { type PodDemand, type PendingWork } from './pod-demand.js';
import { type PodSyncer, type SyncPodResult } from './pod-syncer.js';
import { type SyncOutcome } from './requeue-delay.js';
import { type SyncTurns } from './sync-turns.js';
import { WorkerState, type WorkType, workTypeOf } from './worker-state.js';

/** What a worker needs of the table of workers. */
export interface WorkerHost extends Publisher {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly cache: Pick<PodCache, 'getNewerThan' | 'get'>;
  readonly syncer: PodSyncer;
  /** See {@link PodWorkersOptions.readPodParts}. */
  readonly readPodParts: ((uid: string, signal: AbortSignal) => Promise<PodStatus>) | undefined;
  readonly turns: SyncTurns;
  /** Aborts when no work is to begin any more. */
  readonly closing: AbortSignal;
  /** Whether the pod may start: another one of its name may be in the way. */
  mayStart(worker: PodWorker): boolean;
  /** A sync has ended: schedules the next one. */
  onSynced(worker: PodWorker, outcome: SyncOutcome): void;
  /** The runtime may show a change of the pod. */
  onChanged(worker: PodWorker): void;
  /** No container of the pod is left running. */
  onTerminated(worker: PodWorker): void;
  onFinished(worker: PodWorker): void;
}

/** What {@link PodWorker} needs. */
export interface PodWorkerOptions {
  readonly ref: PodRef;
  readonly demand: PodDemand;
  readonly host: WorkerHost;
  /** Its first view has to be newer than this. */
  readonly newerThan: Stamp;
}

/** What an operation on a pod works with. */
interface View {
  readonly observed: PodStatus;
  /** Some of the status is unavailable. */
  readonly isPartial: boolean;
}

/** A single failed view may be a passing fault. */
const MAX_FAILED_VIEWS = 2;
/**
 * How long a pod that is to end waits for a view, in milliseconds: an inspection that hangs takes twice as
 * long to fail.
 */
const VIEW_LIMIT_MS = 60_000;

/**
 * Does the requested work on one pod, one operation at a time, each with a view newer than the end of the one
 * before.
 */
export class PodWorker {
  readonly ref: PodRef;
  readonly demand: PodDemand;
  readonly state: WorkerState;
  /** It is gone from its source, or marked for deletion there. */
  isDeleted = false;
  /** It is wanted again while it is still ending. */
  restartRequested = false;
  readonly #host: WorkerHost;
  #lastSyncStamp: Stamp;
  #syncing: { readonly workType: WorkType; readonly abort: LinkedAbort } | undefined;
  #isAwaitingView = false;
  /** Stops the wait for a view; undefined while nothing waits. */
  #stopWaiting: (() => void) | undefined;
  /** How many views in a row came without a status of the pod. */
  #failedViews = 0;
  #running: Promise<void> | undefined;

  constructor({ ref, demand, host, newerThan }: PodWorkerOptions) {
    this.ref = ref;
    this.demand = demand;
    this.#host = host;
    this.#lastSyncStamp = newerThan;
    this.state = new WorkerState({ uid: ref.uid, clock: host.clock, logger: host.logger });
  }

  /** The operation under way; undefined while the worker is idle, or waits for a newer view. */
  get syncing(): WorkType | undefined {
    return this.#syncing?.workType;
  }

  /** Work is requested, and the view that it needs has not come yet. */
  get isAwaitingView(): boolean {
    return this.#isAwaitingView;
  }

  /** Resolves when no operation is under way. */
  get idle(): Promise<void> {
    return this.#running ?? Promise.resolve();
  }

  /** Requests work, which starts soon or after the operation under way; folds with a pending request. */
  ask(reason: PendingWork['reason']): void {
    const { clock, logger } = this.#host;
    const wasPending = this.demand.pending !== undefined;
    this.demand.ask(reason, clock.monotonicMs());
    const message = wasPending ? 'Pending update already queued' : 'Notifying pod of pending update';
    logger.info(message, { pod: this.ref, podUID: this.ref.uid, workType: workTypeOf(this.state.phase) }, 4);
    this.wake();
  }

  /** Continues with the requested work, if it may now. */
  wake(): void {
    this.#running ??= this.#run()
      .catch((error: unknown) => {
        // Only a bug gets here. The pod survives it.
        this.#host.logger.error('Pod worker failed', error, { pod: this.ref, podUID: this.ref.uid });
        this.#host.onSynced(this, { error });
      })
      .finally(() => {
        this.#running = undefined;
        // Work may have been requested after the last check of the loop.
        if (this.#mayGoOn()) this.wake();
      });
  }

  /** Lets the sync under way start nothing more, as a newer request has overtaken it. */
  cancelSync(): void {
    if (this.#isUnreadable()) this.#stopWaiting?.();
    if (this.#syncing === undefined || this.#syncing.workType === 'TerminatedPod') return;
    const { workType, abort } = this.#syncing;
    this.#host.logger.info(
      'Sync is overtaken and starts nothing more',
      { pod: this.ref, podUID: this.ref.uid, workType },
      3,
    );
    abort.abort(new DOMException('overtaken by a newer request', 'AbortError'));
  }

  #mayGoOn(): boolean {
    if (this.demand.pending === undefined || this.#host.closing.aborted) return false;
    return this.state.isStarted || this.state.isTerminationRequested || this.#host.mayStart(this);
  }

  async #run(): Promise<void> {
    while (this.#mayGoOn()) await this.#work();
  }

  async #work(): Promise<void> {
    const { turns, closing, clock, logger } = this.#host;
    const fields = { pod: this.ref, podUID: this.ref.uid };
    const abort = linkAbort(closing);
    let workType: WorkType = workTypeOf(this.state.phase);
    let work: PendingWork | undefined;
    let outcome: SyncOutcome;
    let beganMs: number | undefined;
    let leaveTurn: (() => void) | undefined;
    try {
      const view = await this.#observe(closing);
      leaveTurn = await turns.take(this.state.isTerminationRequested);
      closing.throwIfAborted();
      // A pod that only the runtime knew has got a manifest meanwhile: that operation needs a view.
      if (view === undefined && this.demand.pod !== undefined) return;
      work = this.demand.take()!;
      this.state.transition(['waiting'], 'syncing');
      if (this.state.transition(['stopping'], 'terminating')) {
        logger.info('No sync of the pod starts containers any more', fields, 4);
      }
      workType = workTypeOf(this.state.phase);
      this.#syncing = { workType, abort };
      beganMs = clock.monotonicMs();
      logger.info('Processing pod event', { ...fields, updateType: workType }, 4);
      outcome = { result: await this.#sync(workType, work, view, abort.signal) };
    } catch (error) {
      if (closing.aborted) return;
      // Without a view no work was taken: the request stays, and would be retried at once.
      work ??= this.demand.take();
      outcome = { error };
      if (abort.signal.aborted) {
        logger.info(
          'Sync ended because it was overtaken',
          { ...fields, updateType: workType, err: error },
          2,
        );
      } else logger.error('Error syncing pod, skipping', error, fields);
    } finally {
      this.#syncing = undefined;
      leaveTurn?.();
      abort.unlink();
    }
    this.#conclude(workType, outcome);
    logger.info('Processing pod event done', { ...fields, updateType: workType }, 4);
    if (!isHeard(this.#host.channels, podSyncEnded)) return;
    const endedMs = clock.monotonicMs();
    const sinceMs = work?.sinceMs ?? endedMs;
    publishTo(this.#host.channels, podSyncEnded, {
      ...{ uid: this.ref.uid, workType, reason: work?.reason ?? 'sync' },
      ...{ waitedMs: (beganMs ?? endedMs) - sinceMs, durationMs: endedMs - sinceMs },
      error: 'error' in outcome ? outcome.error : undefined,
      ...('error' in outcome && abort.signal.aborted ? { isOvertaken: true } : {}),
    });
  }

  /**
   * Undefined for a pod that only the runtime knows: it can only be ended, and the list is enough for that.
   */
  async #observe(signal: AbortSignal): Promise<View | undefined> {
    if (this.demand.pod === undefined) return undefined;
    const { cache, clock } = this.#host;
    const waiting = linkAbort(signal);
    this.#isAwaitingView = true;
    this.#stopWaiting = () => waiting.abort();
    const limit = clock.setTimer(VIEW_LIMIT_MS, () => this.#giveUpView(), { unref: true });
    try {
      if (this.#isUnreadable()) return await this.#readPodParts(signal);
      const cached = await cache.getNewerThan(this.ref.uid, this.#lastSyncStamp, waiting.signal);
      if (cached.error === undefined) this.#failedViews = 0;
      else if (isOfThePod(cached.error)) this.#failedViews++;
      if (this.#isUnreadable()) return await this.#readPodParts(signal);
      if (cached.error !== undefined) throw cached.error;
      return { observed: cached.status, isPartial: false };
    } catch (error) {
      if (!waiting.signal.aborted || signal.aborted) throw error;
      return await this.#readPodParts(signal);
    } finally {
      limit.cancel();
      this.#stopWaiting = undefined;
      this.#isAwaitingView = false;
      waiting.unlink();
    }
  }

  /**
   * Whether a pod that is to end is ended without its status, as that has been unavailable for a while.
   *
   * Its containers are stopped by their ids, which a list shows.
   */
  #isUnreadable(): boolean {
    const { cache, readPodParts } = this.#host;
    if (readPodParts === undefined || !this.state.isTerminationRequested) return false;
    const isKnown = this.demand.pod !== undefined;
    // A pod that only the runtime knows gets here only after its status was unavailable for a while.
    if (isKnown && this.#failedViews < MAX_FAILED_VIEWS) return false;
    const { error, stamp } = cache.get(this.ref.uid);
    return error === undefined ? isKnown && stamp <= this.#lastSyncStamp : isOfThePod(error);
  }

  #giveUpView(): void {
    if (!this.state.isTerminationRequested) return;
    this.#failedViews = MAX_FAILED_VIEWS;
    if (this.#isUnreadable()) this.#stopWaiting?.();
  }

  async #readPodParts(signal: AbortSignal): Promise<View> {
    const { cache, readPodParts, logger } = this.#host;
    const { uid } = this.ref;
    const message = 'Status of a pod that is to end cannot be had: it is ended by what a list shows of it';
    logger.warn(message, { pod: this.ref, podUID: uid, err: cache.get(uid).error });
    return { observed: await readPodParts!(uid, signal), isPartial: true };
  }

  async #sync(
    workType: WorkType,
    { reason }: PendingWork,
    view: View | undefined,
    signal: AbortSignal,
  ): Promise<SyncPodResult | undefined> {
    const { syncer } = this.#host;
    const { pod, runningPod, gracePeriodSeconds, statusOverride } = this.demand;
    if (pod === undefined || view === undefined) {
      const isPartial = this.#isUnreadable();
      const end = { runningPod: runningPod!, gracePeriodSeconds, isPartial };
      await syncer.syncTerminatingRuntimePod(end, signal);
      return undefined;
    }
    const { observed, isPartial } = view;
    switch (workType) {
      case 'SyncPod':
        return await syncer.syncPod({ reason: reason === 'kill' ? 'sync' : reason, pod, observed }, signal);
      case 'TerminatingPod':
        await syncer.syncTerminatingPod(
          { pod, observed, gracePeriodSeconds: gracePeriodSeconds!, statusOverride, isPartial },
          signal,
        );
        return undefined;
      case 'TerminatedPod':
        await syncer.syncTerminatedPod({ pod, observed, statusOverride }, signal);
        return undefined;
    }
  }

  #conclude(workType: WorkType, outcome: SyncOutcome): void {
    const { clock } = this.#host;
    const { result } = 'result' in outcome ? outcome : {};
    if (result?.unchanged !== true) this.#lastSyncStamp = clock.stamp();
    if ('result' in outcome) this.#advance(workType, result?.isTerminal === true);
    if (this.state.isFinished) {
      this.demand.take();
      this.demand.complete();
      if (workType === 'TerminatingPod') this.#host.onTerminated(this);
      this.#host.onFinished(this);
      return;
    }
    if (result?.unchanged !== true) this.#host.onChanged(this);
    this.#host.onSynced(this, outcome);
  }

  /** Enters the next phase after successful work, if that was the last of its phase. */
  #advance(workType: WorkType, isTerminal: boolean): void {
    const { logger, clock } = this.#host;
    const fields = { pod: this.ref, podUID: this.ref.uid };
    if (workType === 'SyncPod') {
      // A kill that came meanwhile has been requested already, and takes its own path.
      if (!isTerminal || !this.state.transition(['syncing'], 'terminating')) return;
      logger.info('Pod has ended for good', { ...fields, updateType: workType }, 4);
      this.demand.end(undefined);
    } else if (workType === 'TerminatingPod' && this.demand.pod !== undefined) {
      this.state.transition(['terminating'], 'terminated');
      logger.info('No container of the pod runs any more', fields, 4);
      this.demand.complete();
      this.#host.onTerminated(this);
    } else {
      this.state.transition(['terminating', 'terminated'], 'finished');
      logger.info('Nothing is left to do for the pod', fields, 4);
      return;
    }
    this.demand.ask('sync', clock.monotonicMs());
  }
}

/**
 * Whether a view failed because of the pod itself: not because the runtime was away or other inspections were
 * slow.
 */
function isOfThePod(error: Error): boolean {
  return !hasCode(error, 'CRI_UNAVAILABLE', 'CRI_CANCELLED', 'INSPECTION_DISPLACED');
}
