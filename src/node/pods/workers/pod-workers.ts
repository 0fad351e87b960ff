/**
 * Does what is to be done to each pod, one thing at a time per uid, and knows where in its life each one is.
 *
 * In: what config, the sync loop and others want of pods ({@link PodWorkers.updatePod}), and views of the runtime from
 * the cache. Out: calls of a {@link PodSyncer}, which does the work, and answers to "may something of this pod still
 * run?" for everybody who clears up. Everything lies in one table, by uid; a uid that was torn down stays in it until
 * {@link PodWorkers.syncKnownPods} forgets it, so that nothing starts twice under one uid.
 *
 * ```
 * updatePod ─► demand (newest wins, folds are counted) ─► wait for a view newer than the last sync ─► turn ─► syncer
 *                 ▲                                                                                            │
 *                 └── takeDue, by the sync loop's tick ◄── requeue: resync, back-off, "in N ms" ◄──────────────┘
 * ```
 *
 * It assumes that what the cache shows is as new as its stamp says. A view that does not come (a hung runtime) stops
 * that pod alone.
 *
 * Source: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/
 *
 * @module
 */
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
export interface PodWorkersOptions {
  readonly clock: Clock;
  readonly logger?: Logger;
  readonly cache: Pick<PodCache, 'getNewerThan' | 'get'>;
  readonly syncer: PodSyncer;
  /**
   * A pod as a list shows it now, with what else the runtime tells of it. Without it a pod whose status cannot be had is not
   * ended before it can.
   */
  readonly lookAtParts?: WorkerHost['lookAtParts'];
  /** In how many milliseconds the time of a pod is up; undefined where it has as much as it wants, as without this. */
  readonly findDeadlineMs?: (pod: NodePod) => number | undefined;
  /** Asks for a look at one pod soon: a sync has changed something of it. Returns at once. */
  readonly requestRelist: (uid: string) => void;
  /** What {@link PodWorkers.isKnownTerminated} says of a pod has changed. */
  readonly onTerminatedChanged?: (uid: string) => void;
  /** Called when nothing is left to do for a pod. */
  readonly onFinished?: (uid: string) => void;
  /** A finished pod is wanted again: {@link PodWorkers.syncKnownPods} need not wait for its time. */
  readonly onRestartable?: (uid: string) => void;
  /** Between two syncs of a pod to which nothing happens, up to half as long again (default: 1 min). */
  readonly resyncIntervalMs?: number;
  /** Between a sync that failed and the next, up to half as long again (default: 10 s). */
  readonly backOffPeriodMs?: number;
  /** Syncs that begin between two turns of the event loop (default: 8). */
  readonly syncsPerTurn?: number;
  /** A number in [0, 1); Math.random unless told. */
  readonly random?: () => number;
  readonly yieldToLoop?: () => Promise<unknown>;
}

/** Work that had not settled when the workers were closed. */
export interface UnsettledSync {
  readonly pod: PodRef;
  readonly syncing: WorkType;
}

/** What {@link PodWorkers.syncKnownPods} says of a uid that it still knows. */
export interface KnownPod {
  readonly state: WorkType;
  /** It is not among the desired ones. */
  readonly isOrphan: boolean;
  /** Its manifest is or was known; false for what only the runtime showed. */
  readonly hasConfig: boolean;
  readonly isStatic: boolean;
}

/** Counts for metrics and debug pages, as of now. */
export interface PodWorkersStats {
  readonly byPhase: Readonly<Record<WorkerPhase, number>>;
  /** Syncs under way. */
  readonly syncing: number;
  /** Pods with something to do, and no view of the runtime that is new enough: many, or one for long, is its fault. */
  readonly awaitingView: number;
  /** Requests that newer ones came before, of the pods known now. */
  readonly folded: number;
  /** Pods with a time set for their next sync. */
  readonly requeued: number;
}

/** Hooks and stops under way are told to end; what the runtime does not answer is not to keep a node from ending. */
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
  /** When a uid was forgotten last: a view that is older may show what it was in its life before. */
  #forgottenStamp: Stamp = OLDEST_STAMP;

  constructor(options: PodWorkersOptions) {
    this.#options = options;
    const { clock, logger = SILENT_LOGGER, cache, syncer, syncsPerTurn = 8, yieldToLoop } = options;
    this.#logger = logger;
    // Everything under way listens to it, and that may be hundreds of pods.
    setMaxListeners(0, this.#closing.signal);
    this.#requeueTimes = new RequeueTimes({ clock });
    this.#host = {
      clock,
      logger,
      cache,
      syncer,
      lookAtParts: options.lookAtParts,
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

  /** Another number after each change of which uids are known, or finished. */
  get revision(): number {
    return this.#revision;
  }

  /** Every uid known, in the order in which they came. */
  uids(): IterableIterator<string> {
    return this.#workers.keys();
  }

  /** Every uid known, with its phase, in the order in which they came. */
  *phases(): IterableIterator<readonly [uid: string, phase: WorkerPhase]> {
    for (const [uid, worker] of this.#workers) yield [uid, worker.state.phase];
  }

  /** What each uid known is, in the order in which they came, whether it is desired or not. */
  *lives(): IterableIterator<Omit<KnownPod, 'isOrphan'> & { readonly uid: string }> {
    for (const [uid, { state, demand }] of this.#workers) {
      const { pod, isStatic } = demand;
      yield { uid, state: workTypeOf(state.phase), hasConfig: pod !== undefined, isStatic };
    }
  }

  /**
   * Takes in what is wanted of a pod, and returns at once.
   *
   * A pod that is ending takes nothing but a shorter grace period; a `create` of it is remembered, and
   * {@link syncKnownPods} then forgets it as soon as it is finished. Of a finished one nothing is wanted any more.
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
      const message = 'Pod is wanted again while it ends: it starts anew once it has ended';
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
   * Compares what is known with what is desired, and says what each known uid is.
   *
   * Ends pods that are not desired, and forgets those of them that are finished; forgets a finished one that is wanted
   * anew, too, so that its next `create` starts it. To be called only when every source was seen: from now on a uid
   * that is not known counts as one of which nothing runs.
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

  /** In how many milliseconds the next pod is due; undefined when none is to be. */
  get nextDueInMs(): number | undefined {
    return this.#requeueTimes.nextInMs;
  }

  /**
   * Takes the uids whose next sync is due, the most overdue first: call {@link updatePod} or {@link retry} for each. Those
   * of which the syncer says that it would find nothing new come again after another interval.
   */
  takeDue(): string[] {
    return this.#requeueTimes.takeDue().filter((uid) => {
      const worker = this.#workers.get(uid);
      if (worker === undefined || !this.#isSettled(worker)) return true;
      this.#requeue(worker, { result: undefined });
      return false;
    });
  }

  /** Works on a pod again as it was last wanted; does nothing for one that is finished or not known. */
  retry(uid: string): void {
    const worker = this.#workers.get(uid);
    if (worker !== undefined && !worker.state.isFinished) worker.ask('sync');
  }

  /** Whether the uid is in the table: seen, and not forgotten yet. */
  isKnown(uid: string): boolean {
    return this.#workers.has(uid);
  }

  /** Somebody wants the pod to end; a sync of it may still be under way. False for a uid that is not known. */
  isTerminationRequested(uid: string): boolean {
    return this.#workers.get(uid)?.state.isTerminationRequested ?? false;
  }

  /** It is known that none of the pod's containers runs. False for a uid that is not known. */
  isKnownTerminated(uid: string): boolean {
    return this.#workers.get(uid)?.state.isTerminated ?? false;
  }

  /** Nothing is left to do for the pod. False for a uid that is not known. */
  isFinished(uid: string): boolean {
    return this.#workers.get(uid)?.state.isFinished ?? false;
  }

  /** The pod is ending, or has ended, and starts anew after that. False for a uid that is not known. */
  isWantedAnew(uid: string): boolean {
    return this.#workers.get(uid)?.restartRequested ?? false;
  }

  /** Whether containers of the pod may run. Before the first {@link syncKnownPods} an unknown uid counts as one whose may. */
  couldHaveRunningContainers(uid: string): boolean {
    const worker = this.#workers.get(uid);
    return worker === undefined ? !this.#podsSynced : !worker.state.isTerminated;
  }

  /** Whether no new container of the pod can start any more, so that running ones are to be ended. */
  shouldPodContainersBeTerminating(uid: string): boolean {
    return this.#workers.get(uid)?.state.isTerminationStarted ?? this.#podsSynced;
  }

  /** Whether nothing of the pod runs, so that what the runtime keeps of it (sandboxes, dead containers) may go. */
  shouldPodRuntimeBeRemoved(uid: string): boolean {
    return this.#workers.get(uid)?.state.isTerminated ?? this.#podsSynced;
  }

  /** Whether everything of the pod may go, its folders and logs too: it is gone from its source, or was evicted. */
  shouldPodContentBeRemoved(uid: string): boolean {
    const worker = this.#workers.get(uid);
    if (worker === undefined) return this.#podsSynced;
    return worker.demand.isEvicted || (worker.isDeleted && worker.state.isTerminated);
  }

  /**
   * Begins no work any more, cancels the signals of what is under way, and resolves when that has settled, or when the
   * limit is up: then with what still was under way, which is said. The pods stay as they are. Idempotent.
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

  /** It does nothing now, and nothing is to be done. */
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

/** What only one static pod at a time may bear. */
function nameOf({ ref }: PodWorker): string {
  return `${ref.namespace}/${ref.name}`;
}
