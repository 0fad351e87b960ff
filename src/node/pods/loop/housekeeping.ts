/**
 * Brings what exists into line with what is wanted: the kubelet's HandlePodCleanups.
 *
 * In: the desired pods, what the workers know, and what the cache shows of the runtime. Out: it ends owned
 * pods that nobody wants, restarts wanted pods whose uid was torn down, and calls the cleaners of probes,
 * statuses, volumes and folders.
 *
 * It assumes that every source was read; the caller makes sure of that. All decisions of a run are made
 * synchronously, so that nothing changes in between. Cleaners may take their time, and ask again before they
 * remove anything.
 *
 * @module
 */
import { type NodePod } from '#kube/pod/node-pod.js';
import { POD_FORBIDDEN } from '#kube/node/node-policy.js';
import { isStaticPod } from '#kube/pod/static-pod.js';
import { type IsOurs, LABELS, type ObservedPod, type PodCache, type PodStatus } from '#watch';
import { type Clock, OLDEST_STAMP, type Stamp } from '#base/time/clock.js';
import { formatGoDuration } from '#base/time/go-duration.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { publishTo, type Publisher } from '#base/channels/publishing-channel.js';
import { orphanFound, podStartedAgain } from '#base/channels/start-channels.js';
import { podRefOf } from '../workers/pod-demand.js';
import { type PodWorkers } from '../workers/pod-workers.js';
import { type DesiredPods } from './desired-pods.js';
import { isOwnPod, isRunning, toObservedPod } from './housekeeping-owner.js';

type CachedPod = ReturnType<PodCache['get']>;

/** What a {@link PodCleaner} bases its decisions on; each answer is as of the moment of the question. */
export interface CleanupView {
  /** Every pod that a source wants, rejected ones included. */
  readonly desiredUids: ReadonlySet<string>;
  /**
   * Pods with a worker whose containers may run, wanted or not: cleaners leave alone what running pods need.
   */
  readonly possiblyRunningUids: ReadonlySet<string>;
  /** Whether the pod's data on this node may be removed: nobody wants the pod, and nothing of it runs. */
  mayRemove(uid: string): boolean;
}

/** An owner of per-pod state that removes what is no longer needed. */
export interface PodCleaner {
  /** For logs: `probes`, `pod directories`. */
  readonly name: string;
  /** Returns `more` (or a promise of it) when something could not be removed yet: it is called again soon. */
  cleanUp(view: CleanupView, signal: AbortSignal): unknown;
}

/** What {@link Housekeeping} needs. */
export interface HousekeepingOptions extends Publisher {
  readonly clock: Clock;
  readonly logger?: Logger;
  readonly desired: DesiredPods;
  readonly workers: Pick<
    PodWorkers,
    | 'syncKnownPods'
    | 'updatePod'
    | 'isKnown'
    | 'uids'
    | 'couldHaveRunningContainers'
    | 'shouldPodContentBeRemoved'
  >;
  readonly cache: Pick<PodCache, 'get' | 'getNewerThan' | 'uids'>;
  readonly isOurs: IsOurs;
  /**
   * Finds pods whose inspections fail; without it an unwanted pod of that kind stays until its inspection
   * works.
   */
  readonly listed?: {
    /** As last listed. */
    find(uid: string): ObservedPod | undefined;
    /** As it is now, with whatever else the runtime reports; rejects when nobody can say who owns it. */
    lookAt(uid: string, signal: AbortSignal): Promise<PodStatus>;
  };
  /**
   * Starts to remove what the runtime has left of a pod that restarts under its uid; returns at once,
   * idempotent.
   *
   * Without it such a pod starts beside its own remains.
   */
  readonly clearRemains?: (uid: string) => void;
  /** A pod that waits for its remains was seen anew: the next {@link Housekeeping.run} may start it. */
  readonly onRemainsSeen?: () => void;
  /** A pod that was torn down starts again: state of its former life is useless. */
  readonly onStartAnew?: (uid: string) => void;
  /**
   * Whether there is room for a pod that starts again, which may ask for more than before (default: there
   * is).
   */
  readonly readmit?: (pod: NodePod) => boolean;
  /** Whether the pod's data is being removed right now: the pod starts after that (default: it never is). */
  readonly isBeingRemoved?: (uid: string) => boolean;
  /** Called one after the other, in this order. */
  readonly cleaners?: readonly PodCleaner[];
  /** A cleaner that takes longer is named in a warning (default: 1 s). */
  readonly warningMs?: number;
}

/** See the comment of this module. */
export class Housekeeping {
  readonly #options: HousekeepingOptions;
  readonly #logger: Logger;
  readonly #warningMs: number;
  readonly #closing = new AbortController();
  /** When each uid was forgotten, for as long as the cache may still show its former state. */
  readonly #forgottenAt = new Map<string, Stamp>();
  /**
   * Pods that the workers have forgotten, and when: any state of them belongs to a former life.
   *
   * An unwanted pod stays here until its state is cleaned up, as it may be wanted again before that.
   */
  readonly #tornDown = new Map<string, Stamp>();
  /** What the newest list of its own shows of a pod that waits for its remains; undefined while that is under way. */
  readonly #remains = new Map<string, CachedPod | undefined>();
  /** The last inspection error of each unwanted pod. */
  readonly #unreadable = new Map<string, Error>();
  /** When the newest completed clean-up began. */
  #cleanedAt: Stamp = OLDEST_STAMP;
  readonly #view: CleanupView;
  #cleaning: Promise<void> | undefined;
  /** Whether the last completed clean-up left nothing to do. */
  #isCleanedUp = false;
  /** The cleaner at work, and since when, in monotonic milliseconds. */
  #atWork: { readonly name: string; readonly sinceMs: number; isWarned: boolean } | undefined;

  constructor(options: HousekeepingOptions) {
    this.#options = options;
    this.#logger = options.logger ?? SILENT_LOGGER;
    this.#warningMs = options.warningMs ?? 1_000;
    const { desired, workers } = options;
    this.#view = {
      get desiredUids() {
        return desired.uids();
      },
      get possiblyRunningUids() {
        const uids = new Set<string>();
        for (const uid of workers.uids()) if (workers.couldHaveRunningContainers(uid)) uids.add(uid);
        return uids;
      },
      mayRemove: (uid) => this.#mayRemove(uid),
    };
  }

  /** Decides at once and cleans up in the background; does not interrupt a clean-up under way. */
  run(): void {
    const startedMs = this.#options.clock.monotonicMs();
    this.#logger.info('SyncLoop (housekeeping)', {}, 4);
    this.#logger.info('Clean up pod workers for terminated pods', {}, 4);
    this.#forgetFinished();
    this.#endOrphans();
    this.#startAnew();
    const tookMs = this.#options.clock.monotonicMs() - startedMs;
    if (tookMs > this.#warningMs) this.#warn('the decisions', tookMs);
    this.#logger.info('SyncLoop (housekeeping) end', { duration: formatGoDuration(tookMs) }, 4);
    this.#cleanUp();
  }

  /** Nothing is left to do: until something happens to a pod, another run would change nothing. */
  get isSettled(): boolean {
    const isAtWork = this.#cleaning !== undefined || !this.#isCleanedUp;
    return !isAtWork && this.#forgottenAt.size === 0 && this.#tornDown.size === 0;
  }

  /**
   * Whether the pod was torn down and may still have containers, folders or a status of its former life.
   *
   * Only {@link run} may start such a pod, once those are gone.
   */
  isTornDown(uid: string): boolean {
    return this.#tornDown.has(uid) || this.#options.isBeingRemoved?.(uid) === true;
  }

  /** Stops the clean-up; resolves when it has ended. Idempotent. */
  async close(): Promise<void> {
    this.#closing.abort(new DOMException('housekeeping is closed', 'AbortError'));
    await this.#cleaning;
  }

  #forgetFinished(): void {
    const { workers, desired, clock } = this.#options;
    const before = [...workers.uids()];
    workers.syncKnownPods(desired.all());
    for (const uid of before) {
      if (workers.isKnown(uid)) continue;
      const stamp = clock.stamp();
      this.#forgottenAt.set(uid, stamp);
      this.#tornDown.set(uid, stamp);
    }
    for (const [uid, stamp] of this.#tornDown) {
      if (desired.has(uid) || this.#cleanedAt <= stamp || this.#hasRemains(uid)) continue;
      this.#tornDown.delete(uid);
      this.#remains.delete(uid);
    }
  }

  /** Whether the runtime may still have something of a former life of the pod. */
  #hasRemains(uid: string): boolean {
    const cached = this.#options.cache.get(uid);
    const own = this.#remains.get(uid);
    const { status, error, stamp } = own !== undefined && own.stamp > cached.stamp ? own : cached;
    const forgottenAt = this.#forgottenAt.get(uid);
    const isOlder = forgottenAt !== undefined && stamp <= forgottenAt;
    return error !== undefined || isOlder || status.sandboxes.length + status.containers.length > 0;
  }

  /** Asks for a list of that pod, as the next one of all pods may be a minute away. */
  #lookForRemains(uid: string): void {
    const { cache, clock, onRemainsSeen } = this.#options;
    if (this.#remains.has(uid) && this.#remains.get(uid) === undefined) return;
    this.#remains.set(uid, undefined);
    cache.getNewerThan(uid, clock.stamp(), this.#closing.signal).then(
      (seen) => {
        if (!this.#tornDown.has(uid)) return;
        this.#remains.set(uid, seen);
        onRemainsSeen?.();
      },
      () => this.#remains.delete(uid),
    );
  }

  /** Ends pods that only the runtime knows, if this agent made or adopted them; leaves foreign ones alone. */
  #endOrphans(): void {
    const { cache } = this.#options;
    for (const [uid, forgottenAt] of this.#forgottenAt) {
      if (cache.get(uid).stamp > forgottenAt) this.#forgottenAt.delete(uid);
    }
    for (const uid of this.#unreadable.keys()) {
      if (cache.get(uid).error === undefined) this.#unreadable.delete(uid);
    }
    for (const uid of cache.uids()) {
      if (!this.#isOrphan(uid)) continue;
      const { status, error } = cache.get(uid);
      if (error === undefined) this.#endOrphan(status);
      else this.#lookAtOrphan(uid, error);
    }
  }

  #isOrphan(uid: string): boolean {
    const { workers, desired } = this.#options;
    // A forbidden pod must not run, even if it was not seen running when it was judged.
    const isWanted = desired.has(uid) && desired.findRejection(uid)?.reason !== POD_FORBIDDEN;
    // A view from before it was forgotten may show it before its end.
    return !workers.isKnown(uid) && !isWanted && !this.#forgottenAt.has(uid);
  }

  #endOrphan(status: PodStatus): void {
    const { workers, isOurs } = this.#options;
    if (!isRunning(status) || !isOwnPod(status, isOurs)) return;
    const { uid } = status;
    this.#logger.info('Pod runs that nobody wants, ending it', { pod: status, podUID: uid }, 2);
    workers.updatePod({ type: 'kill', runningPod: toObservedPod(status) });
    publishTo(this.#options.channels, orphanFound, { uid });
  }

  /**
   * Reads the parts of an orphan after each further inspection that fails, as only its status names its
   * owner.
   */
  #lookAtOrphan(uid: string, error: Error): void {
    const { listed, isOurs } = this.#options;
    const before = this.#unreadable.get(uid);
    this.#unreadable.set(uid, error);
    const seen = listed?.find(uid);
    if (seen === undefined || !isRunning(seen) || before === undefined || before === error) return;
    // Each of these calls may hang, so skip pods of other owners.
    if (seen.owner !== 'podloop' && !isOurs({ [LABELS.podUid]: uid }, uid)) return;
    listed!.lookAt(uid, this.#closing.signal).then(
      (status) => {
        if (this.#isOrphan(uid)) this.#endOrphan(status);
      },
      (reason: unknown) => {
        if (this.#closing.signal.aborted) return;
        const fields = { podUID: uid, err: reason };
        this.#logger.info('Orphaned pod cannot be inspected', fields, 2);
      },
    );
  }

  /**
   * Starts desired pods that the workers do not know: those torn down and wanted again under the same uid.
   */
  #startAnew(): void {
    const { desired, workers, isBeingRemoved, clearRemains, onStartAnew, readmit } = this.#options;
    for (const pod of desired.all()) {
      const { uid } = pod.metadata;
      if (workers.isKnown(uid) || desired.findRejection(uid) !== undefined || desired.isHeld(uid)) continue;
      // The next run finds the data gone.
      if (isBeingRemoved?.(uid) === true) continue;
      if (this.#tornDown.has(uid)) {
        if (clearRemains !== undefined && this.#hasRemains(uid)) {
          clearRemains(uid);
          this.#lookForRemains(uid);
          continue;
        }
        this.#tornDown.delete(uid);
        this.#remains.delete(uid);
        onStartAnew?.(uid);
        if (readmit?.(pod) === false) continue;
        publishTo(this.#options.channels, podStartedAgain, { isStatic: isStaticPod(pod) });
      }
      this.#logger.info(
        'Pod is wanted and not worked on, starting it',
        { pod: podRefOf(pod), podUID: uid },
        3,
      );
      workers.updatePod({ type: 'create', pod });
    }
  }

  #cleanUp(): void {
    if (this.#closing.signal.aborted) return;
    if (this.#cleaning === undefined) {
      this.#cleaning = this.#cleanUpInTurn().finally(() => (this.#cleaning = undefined));
      return;
    }
    const atWork = this.#atWork;
    if (atWork === undefined || atWork.isWarned) return;
    const tookMs = this.#options.clock.monotonicMs() - atWork.sinceMs;
    if (tookMs <= this.#warningMs) return;
    atWork.isWarned = true;
    this.#warn(atWork.name, tookMs);
  }

  async #cleanUpInTurn(): Promise<void> {
    const { cleaners = [], clock } = this.#options;
    const stamp = clock.stamp();
    let isCleanedUp = true;
    this.#isCleanedUp = false;
    for (const cleaner of cleaners) {
      this.#atWork = { name: cleaner.name, sinceMs: clock.monotonicMs(), isWarned: false };
      try {
        const result = await cleaner.cleanUp(this.#view, this.#closing.signal);
        if (result === 'more') isCleanedUp = false;
      } catch (error) {
        if (this.#closing.signal.aborted) return;
        isCleanedUp = false;
        // A failing cleaner must not stop the others.
        this.#logger.error('Failed cleaning pods', error, { cleaner: cleaner.name });
      }
    }
    this.#atWork = undefined;
    this.#isCleanedUp = isCleanedUp;
    this.#cleanedAt = stamp;
  }

  #mayRemove(uid: string): boolean {
    const { desired, workers, cache } = this.#options;
    if (desired.has(uid) || !workers.shouldPodContentBeRemoved(uid)) return false;
    const { status, error } = cache.get(uid);
    return error === undefined && !isRunning(status);
  }

  #warn(who: string, tookMs: number): void {
    this.#logger.warn('Housekeeping took longer than expected', {
      who,
      expected: formatGoDuration(this.#warningMs),
      actual: formatGoDuration(tookMs),
    });
  }
}
