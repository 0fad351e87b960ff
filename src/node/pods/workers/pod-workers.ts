/**
 * Does the work on each pod, one operation at a time per uid, and tracks its phase of life.
 *
 * In: requests from config, the sync loop and others ({@link PodWorkers.updatePod}), and views of the runtime
 * from the cache. Out: calls of a {@link PodSyncer}, which does the work, and answers to "may something of
 * this pod still run?" for everything that cleans up. All state is in one table, by uid. A uid that was torn
 * down stays in it until {@link PodWorkers.syncKnownPods} forgets it, so that nothing starts twice under one
 * uid.
 *
 * ```
 * updatePod ─► demand (newest wins, folds are counted) ─► wait for a view newer than the last sync ─► turn ─► syncer
 *                 ▲                                                                                            │
 *                 └── takeDue, by the sync loop's tick ◄── requeue: resync, back-off, "in N ms" ◄──────────────┘
 * ```
 *
 * It assumes that the cache's view is as new as its stamp says. If a view does not come (a hung runtime),
 * only that pod stops.
 *
 * Source: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/
 *
 * @module
 */
import { type Publisher } from '#base/channels/publishing-channel.js';
import { setMaxListeners } from 'node:events';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodRef } from '#kube/pod/pod-ref.js';
import { type PodCache } from '#watch';
import { type Clock, OLDEST_STAMP, type Stamp } from '#base/time/clock.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { settlesWithin } from '#base/async/settles-within.js';
import { acceptRequest, endOrphan, type RequestEffects } from './accept-request.js';
import { PodDemand, podRefOf } from './pod-demand.js';
import { type PodSyncer } from './pod-syncer.js';
import { PodWorker, type WorkerHost } from './pod-worker.js';
import { computeRequeueMs, type SyncOutcome } from './requeue-delay.js';
import { RequeueTimes } from './requeue-times.js';
import { StaticPodOrder } from './static-pod-order.js';
import { SyncTurns } from './sync-turns.js';
import { type PodWorkRequest } from './work-request.js';
import { type WorkerPhase, type WorkType, workTypeOf } from './worker-state.js';

/** What {@link PodWorkers} needs. */
export interface PodWorkersOptions extends Publisher {
  readonly clock: Clock;
  readonly logger?: Logger;
  readonly cache: Pick<PodCache, 'getNewerThan' | 'get'>;
  readonly syncer: PodSyncer;
  /**
   * A pod as a list shows it now, with whatever else the runtime reports.
   *
   * Without it, a pod whose status is unavailable is not ended before the status is back.
   */
  readonly readPodParts?: WorkerHost['readPodParts'];
  /** Milliseconds until the pod's deadline; undefined for a pod without one (default: no pod has one). */
  readonly findDeadlineMs?: (pod: NodePod) => number | undefined;
  /** Requests a relist of one pod soon, as a sync has changed something of it. Returns at once. */
  readonly requestRelist: (uid: string) => void;
  /** The answer of {@link PodWorkers.isKnownTerminated} for a pod has changed. */
  readonly onTerminatedChanged?: (uid: string) => void;
  /** Called when nothing is left to do for a pod. */
  readonly onFinished?: (uid: string) => void;
  /** A finished pod is wanted again: {@link PodWorkers.syncKnownPods} need not wait for its time. */
  readonly onRestartable?: (uid: string) => void;
  /** Between two syncs of a pod to which nothing happens; jitter adds up to half of it (default: 1 min). */
  readonly resyncIntervalMs?: number;
  /** Between a failed sync and the next; jitter adds up to half of it (default: 10 s). */
  readonly backOffPeriodMs?: number;
  /** Syncs that start between two turns of the event loop (default: 8). */
  readonly syncsPerTurn?: number;
  /** A number in [0, 1) (default: Math.random). */
  readonly random?: () => number;
  readonly yieldToLoop?: () => Promise<unknown>;
}

/** Work that had not settled when the workers were closed. */
export interface UnsettledSync {
  readonly pod: PodRef;
  readonly syncing: WorkType;
}

/** What {@link PodWorkers.syncKnownPods} returns for a uid that it still knows. */
export interface KnownPod {
  readonly state: WorkType;
  /** The pod is not desired. */
  readonly isOrphan: boolean;
  /** Its manifest is or was known; false for a pod that only the runtime showed. */
  readonly hasConfig: boolean;
  readonly isStatic: boolean;
}

/** Counts for metrics and debug pages, as of now. */
export interface PodWorkersStats {
  readonly byPhase: Readonly<Record<WorkerPhase, number>>;
  /** Syncs under way. */
  readonly syncing: number;
  /**
   * Pods with work and no view of the runtime that is new enough: many of them, or one for long, is the
   * runtime's fault.
   */
  readonly awaitingView: number;
  /** Requests that newer ones replaced, of the pods known now. */
  readonly folded: number;
  /** Pods with a time set for their next sync. */
  readonly requeued: number;
}

/**
 * Limit in milliseconds: hooks and stops under way are cancelled, but a hung runtime must not keep the agent
 * from ending.
 */
const CLOSE_LIMIT_MS = 30_000;

/** The workers of all pods: see the comment of this module. */
export class PodWorkers {
  readonly #options: PodWorkersOptions;
  readonly #logger: Logger;
  readonly #workers = new Map<string, PodWorker>();
  readonly #requeueTimes: RequeueTimes;
  readonly #staticOrder = new StaticPodOrder();
  readonly #closing = new AbortController();
  readonly #host: WorkerHost;
  readonly #effects: RequestEffects;
  #podsSynced = false;
  #revision = 0;
  /** When a uid was last forgotten: an older view may show its former life. */
  #forgottenStamp: Stamp = OLDEST_STAMP;

  constructor(options: PodWorkersOptions) {
    this.#options = options;
    const { clock, logger = SILENT_LOGGER, cache, syncer, syncsPerTurn = 8, yieldToLoop } = options;
    this.#logger = logger;
    // Every operation under way listens to it, for hundreds of pods perhaps.
    setMaxListeners(0, this.#closing.signal);
    this.#requeueTimes = new RequeueTimes({ clock });
    this.#host = {
      channels: options.channels,
      clock,
      logger,
      cache,
      syncer,
      readPodParts: options.readPodParts,
      turns: new SyncTurns({ clock, perTurn: syncsPerTurn, yieldToLoop }),
      closing: this.#closing.signal,
      mayStart: (worker) =>
        !worker.demand.isStatic || this.#staticOrder.tryStart(nameOf(worker), uidOf(worker)),
      onSynced: (worker, outcome) => this.#requeue(worker, outcome),
      onChanged: (worker) => options.requestRelist(uidOf(worker)),
      onTerminated: (worker) => options.onTerminatedChanged?.(uidOf(worker)),
      onFinished: (worker) => this.#finish(worker),
    };
    this.#effects = { logger, onNeverToStart: (worker) => this.#giveUpStaticPlace(worker) };
  }

  /** Counters as of now. */
  get stats(): PodWorkersStats {
    const byPhase = { waiting: 0, syncing: 0, stopping: 0, terminating: 0, terminated: 0, finished: 0 };
    let [syncing, folded, awaitingView] = [0, 0, 0];
    for (const worker of this.#workers.values()) {
      byPhase[worker.state.phase]++;
      folded += worker.demand.folded;
      if (worker.syncing !== undefined) syncing++;
      if (worker.isAwaitingView) awaitingView++;
    }
    return { byPhase, syncing, awaitingView, folded, requeued: this.#requeueTimes.size };
  }

  /** Changes with every change of the known or finished uids. */
  get revision(): number {
    return this.#revision;
  }

  /** Every known uid, in the order in which they came. */
  uids(): IterableIterator<string> {
    return this.#workers.keys();
  }

  /** Every known uid with its phase, in the order in which they came. */
  *phases(): IterableIterator<readonly [uid: string, phase: WorkerPhase]> {
    for (const [uid, worker] of this.#workers) yield [uid, worker.state.phase];
  }

  /** The state of each known uid, desired or not, in the order in which they came. */
  *lives(): IterableIterator<Omit<KnownPod, 'isOrphan'> & { readonly uid: string }> {
    for (const [uid, { state, demand }] of this.#workers) {
      const { pod, isStatic } = demand;
      yield { uid, state: workTypeOf(state.phase), hasConfig: pod !== undefined, isStatic };
    }
  }

  /**
   * Accepts a request for a pod, and returns at once.
   *
   * A pod that is ending accepts only a shorter grace period. It remembers a `create`, and {@link
   * syncKnownPods} then forgets it as soon as it is finished. A finished pod accepts nothing.
   */
  updatePod(request: PodWorkRequest): void {
    const ref = 'pod' in request ? podRefOf(request.pod) : request.runningPod;
    const known = this.#workers.get(ref.uid);
    const fields = { pod: ref, podUID: ref.uid, updateType: request.type };
    if (this.#closing.signal.aborted) {
      if (request.type === 'kill') request.kill?.onCompleted?.();
      return;
    }
    if (known?.state.isTerminationRequested === true && request.type === 'create') {
      known.restartRequested = true;
      const message = 'Pod is wanted again while it ends: it starts again once it has ended';
      this.#logger.info(message, fields, 4);
      if (known.state.isFinished) this.#options.onRestartable?.(ref.uid);
      return;
    }
    if (known?.state.isFinished === true) {
      this.#logger.info('Pod is finished: update ignored', fields, 4);
      if (request.type === 'kill') request.kill?.onCompleted?.();
      return;
    }
    if (known === undefined) this.#logger.info('Pod is new to the workers', fields, 4);
    acceptRequest(known ?? this.#addWorker(ref), request, this.#effects);
  }

  /**
   * Compares the known pods with the desired ones, and returns what each known uid is.
   *
   * Ends pods that are not desired, and forgets those that are finished. It also forgets a finished pod that
   * is wanted again, so that its next `create` starts it. To be called only when every source was read: from
   * now on, an unknown uid counts as one with nothing running.
   */
  syncKnownPods(desired: Iterable<NodePod>): Map<string, KnownPod> {
    this.#podsSynced = true;
    const desiredUids = new Set<string>();
    for (const pod of desired) desiredUids.add(pod.metadata.uid);
    const known = new Map<string, KnownPod>();
    for (const [uid, worker] of this.#workers) {
      const isOrphan = !desiredUids.has(uid);
      if (isOrphan) endOrphan(worker, this.#effects);
      if (worker.state.isFinished && (isOrphan || worker.restartRequested)) {
        this.#forget(worker);
        continue;
      }
      const { pod, isStatic } = worker.demand;
      known.set(uid, {
        state: workTypeOf(worker.state.phase),
        isOrphan,
        hasConfig: pod !== undefined,
        isStatic,
      });
    }
    return known;
  }

  /** Milliseconds until the next pod is due; undefined when none is scheduled. */
  get nextDueInMs(): number | undefined {
    return this.#requeueTimes.nextInMs;
  }

  /**
   * Takes the uids whose next sync is due, the most overdue first; call {@link updatePod} or {@link retry}
   * for each.
   *
   * Pods that the syncer reports as settled are scheduled again after another interval.
   */
  takeDue(): string[] {
    return this.#requeueTimes.takeDue().filter((uid) => {
      const worker = this.#workers.get(uid);
      if (worker === undefined || !this.#isSettled(worker)) return true;
      this.#requeue(worker, { result: undefined });
      return false;
    });
  }

  /** Repeats the last request for a pod; does nothing for a finished or unknown one. */
  retry(uid: string): void {
    const worker = this.#workers.get(uid);
    if (worker !== undefined && !worker.state.isFinished) worker.ask('sync');
  }

  /** Whether the uid is in the table: seen, and not forgotten yet. */
  isKnown(uid: string): boolean {
    return this.#workers.has(uid);
  }

  /** The pod was asked to end; a sync of it may still be under way. False for an unknown uid. */
  isTerminationRequested(uid: string): boolean {
    return this.#workers.get(uid)?.state.isTerminationRequested ?? false;
  }

  /** It is known that none of the pod's containers runs. False for an unknown uid. */
  isKnownTerminated(uid: string): boolean {
    return this.#workers.get(uid)?.state.isTerminated ?? false;
  }

  /** Nothing is left to do for the pod. False for an unknown uid. */
  isFinished(uid: string): boolean {
    return this.#workers.get(uid)?.state.isFinished ?? false;
  }

  /** The pod is ending or has ended, and starts again after that. False for an unknown uid. */
  isWantedAgain(uid: string): boolean {
    return this.#workers.get(uid)?.restartRequested ?? false;
  }

  /**
   * Whether containers of the pod may run; true for an unknown uid before the first {@link syncKnownPods}.
   */
  couldHaveRunningContainers(uid: string): boolean {
    const worker = this.#workers.get(uid);
    return worker === undefined ? !this.#podsSynced : !worker.state.isTerminated;
  }

  /** Whether no new container of the pod can start, so that running ones have to be ended. */
  shouldPodContainersBeTerminating(uid: string): boolean {
    return this.#workers.get(uid)?.state.isTerminationStarted ?? this.#podsSynced;
  }

  /**
   * Whether nothing of the pod runs, so that its sandboxes and dead containers may be removed from the
   * runtime.
   */
  shouldPodRuntimeBeRemoved(uid: string): boolean {
    return this.#workers.get(uid)?.state.isTerminated ?? this.#podsSynced;
  }

  /**
   * Whether everything of the pod may be removed, its folders and logs too: it is gone from its source, or
   * was evicted.
   */
  shouldPodContentBeRemoved(uid: string): boolean {
    const worker = this.#workers.get(uid);
    if (worker === undefined) return this.#podsSynced;
    return worker.demand.isEvicted || (worker.isDeleted && worker.state.isTerminated);
  }

  /**
   * Starts no more work, aborts the signals of operations under way, and resolves when they have settled.
   *
   * After the limit it resolves with the operations that are still under way. The pods stay as they are.
   * Idempotent.
   */
  async close(limitMs = CLOSE_LIMIT_MS): Promise<readonly UnsettledSync[]> {
    const { clock } = this.#options;
    this.#closing.abort(new DOMException('the pod workers are closed', 'AbortError'));
    const workers = [...this.#workers.values()];
    const idle = Promise.all(workers.map((worker) => worker.idle));
    const isSettled = await settlesWithin(idle, limitMs, clock);
    for (const worker of workers) worker.demand.complete();
    if (isSettled) return [];
    const unsettled = workers.flatMap(({ ref, syncing }) =>
      syncing === undefined ? [] : { pod: ref, syncing },
    );
    for (const { pod, syncing } of unsettled) {
      this.#logger.error('Work on a pod did not settle in time and is left to itself', undefined, {
        ...{ pod, podUID: pod.uid, updateType: syncing },
      });
    }
    return unsettled;
  }

  #requeue(worker: PodWorker, outcome: SyncOutcome): void {
    const { resyncIntervalMs = 60_000, backOffPeriodMs = 10_000, random = Math.random } = this.#options;
    const intervals = { resyncIntervalMs, backOffPeriodMs };
    const afterMs = computeRequeueMs(outcome, intervals, random(), () => {
      const { pod } = worker.demand;
      return pod === undefined ? undefined : this.#options.findDeadlineMs?.(pod);
    });
    const isResync = 'result' in outcome && outcome.result?.requeueAfterMs === undefined;
    if (isResync) this.#requeueTimes.setAbout(uidOf(worker), afterMs);
    else this.#requeueTimes.set(uidOf(worker), afterMs);
  }

  /** Nothing is under way and nothing is requested. */
  #isSettled({ ref, demand, state, syncing }: PodWorker): boolean {
    const { cache, syncer } = this.#options;
    const { pod, pending } = demand;
    if (pod === undefined || pending !== undefined || syncing !== undefined) return false;
    if (state.isTerminationRequested || state.isFinished) return false;
    const { status, error } = cache.get(ref.uid);
    return error === undefined && syncer.isSettled?.(pod, status) === true;
  }

  #addWorker(ref: PodRef): PodWorker {
    const { uid, namespace, name } = ref;
    const worker = new PodWorker({
      ref: { uid, namespace, name },
      demand: new PodDemand(),
      host: this.#host,
      newerThan: this.#forgottenStamp,
    });
    this.#workers.set(uid, worker);
    this.#revision++;
    return worker;
  }

  #finish(worker: PodWorker): void {
    this.#revision++;
    this.#requeueTimes.delete(uidOf(worker));
    this.#giveUpStaticPlace(worker);
    this.#options.onFinished?.(uidOf(worker));
    if (worker.restartRequested) this.#options.onRestartable?.(uidOf(worker));
  }

  #forget(worker: PodWorker): void {
    const fields = { pod: worker.ref, podUID: worker.ref.uid };
    this.#logger.info('Pod is forgotten', { ...fields, restartRequested: worker.restartRequested }, 4);
    this.#workers.delete(uidOf(worker));
    this.#revision++;
    this.#options.onTerminatedChanged?.(uidOf(worker));
    this.#forgottenStamp = this.#options.clock.stamp();
  }

  #giveUpStaticPlace(worker: PodWorker): void {
    const next = this.#staticOrder.release(nameOf(worker), uidOf(worker));
    if (next !== undefined) this.#workers.get(next)?.wake();
  }
}

function uidOf({ ref }: PodWorker): string {
  return ref.uid;
}

/** The name that only one static pod may use at a time. */
function nameOf({ ref }: PodWorker): string {
  return `${ref.namespace}/${ref.name}`;
}
