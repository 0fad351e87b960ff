/**
 * Brings what is there into line with what is wanted: the kubelet's HandlePodCleanups.
 *
 * In: the desired pods, what the workers know, and what the cache shows of the runtime. Out: the ends of pods of ours
 * that nobody wants, new beginnings of pods whose uid was torn down, and word to those who keep something for pods
 * (probes, statuses, volumes, folders) that they may clear up.
 *
 * It assumes that every source was seen: whoever calls it has made sure. What is decided is decided in one go, so that
 * nothing changes in between; what clears up may take its time and asks again before it removes anything.
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
import { orphanFound, podStartedAnew } from '#base/channels/start-channels.js';
import { podRefOf } from '../workers/pod-demand.js';
import { type PodWorkers } from '../workers/pod-workers.js';
import { type DesiredPods } from './desired-pods.js';
import { isOwnPod, isRunning, toObservedPod } from './housekeeping-owner.js';

/** What a {@link PodCleaner} goes by; each answer is as of the moment in which it is asked for. */
export interface CleanupView {
  /** Every pod that a source wants, rejected ones included. */
  readonly desiredUids: ReadonlySet<string>;
  /** Pods that are worked on and of which containers may run, wanted or not: what serves running pods stays for them. */
  readonly possiblyRunningUids: ReadonlySet<string>;
  /** Whether what is kept on this node for a pod may go for good: nobody wants it, and nothing of it runs. */
  mayRemove(uid: string): boolean;
}

/** Somebody who keeps something for pods, and clears up what is of no use any more. */
export interface PodCleaner {
  /** For logs: `probes`, `pod directories`. */
  readonly name: string;
  /** Gives `more`, now or as a promise, when something is to go that could not go now: it is called again soon. */
  cleanUp(view: CleanupView, signal: AbortSignal): unknown;
}

/** What {@link Housekeeping} needs. */
export interface HousekeepingOptions {
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
  readonly cache: Pick<PodCache, 'get' | 'uids'>;
  readonly isOurs: IsOurs;
  /** For pods whose inspections fail: without it one of them that nobody wants stays as long as they do. */
  readonly listed?: {
    /** As looked at last. */
    find(uid: string): ObservedPod | undefined;
    /** As it is now, with what else the runtime tells of it; rejects where nobody can tell whose it is. */
    lookAt(uid: string, signal: AbortSignal): Promise<PodStatus>;
  };
  /**
   * Removes what the runtime has left of a pod that starts anew under its uid; returns at once, and may be asked again.
   * Without it such a pod starts beside its own remains.
   */
  readonly clearRemains?: (uid: string) => void;
  /** A pod that was torn down starts anew: what is kept of its former life is of no use. */
  readonly onStartAnew?: (uid: string) => void;
  /** Whether a pod that starts anew finds room, which it may not have asked for in its former life (default: it does). */
  readonly admitAnew?: (pod: NodePod) => boolean;
  /** Whether what is kept of a pod is being taken away at this moment: it begins after that. It never is unless told. */
  readonly isBeingRemoved?: (uid: string) => boolean;
  /** Called one after the other, in this order. */
  readonly cleaners?: readonly PodCleaner[];
  /** Whoever takes longer is named in a warning (default: 1 s). */
  readonly warningMs?: number;
}

/** See the comment of this module. */
export class Housekeeping {
  readonly #options: HousekeepingOptions;
  readonly #logger: Logger;
  readonly #warningMs: number;
  readonly #closing = new AbortController();
  /** Since when a uid is forgotten, as long as the cache may show it as it was before. */
  readonly #forgottenAt = new Map<string, Stamp>();
  /**
   * Pods that the workers have forgotten, with when, so that what anybody has of them is of a former life. One that
   * nobody wants stays here until that is cleared up: it may be wanted again before.
   */
  readonly #tornDown = new Map<string, Stamp>();
  /** Why the last inspection failed of a pod that nobody wants. */
  readonly #unreadable = new Map<string, Error>();
  /** When the newest clean-up began that has ended. */
  #cleanedAt: Stamp = OLDEST_STAMP;
  readonly #view: CleanupView;
  #cleaning: Promise<void> | undefined;
  /** Whether the last clean-up that has ended left nothing to be cleared up. */
  #isCleanedUp = false;
  /** Who is clearing up, and since when, in monotonic milliseconds. */
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

  /** Decides at once, and lets clear up beside; a clean-up that is still under way is left to it. */
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

  /** Nothing is left to do: as long as nothing happens to pods, going round again would find the same. */
  get isSettled(): boolean {
    const isAtWork = this.#cleaning !== undefined || !this.#isCleanedUp;
    return !isAtWork && this.#forgottenAt.size === 0 && this.#tornDown.size === 0;
  }

  /**
   * The pod was torn down, and something of its former life may still be there: its containers in the runtime, its
   * folders, or its last status. Nobody but {@link run} is to start it then, which does so once that is gone.
   */
  isTornDown(uid: string): boolean {
    return this.#tornDown.has(uid) || this.#options.isBeingRemoved?.(uid) === true;
  }

  /** Stops clearing up; resolves when that has ended. Idempotent. */
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
    }
  }

  /** Whether the runtime may still have something of a former life of the pod. */
  #hasRemains(uid: string): boolean {
    const { status, error, stamp } = this.#options.cache.get(uid);
    const forgottenAt = this.#forgottenAt.get(uid);
    const isOlder = forgottenAt !== undefined && stamp <= forgottenAt;
    return error !== undefined || isOlder || status.sandboxes.length + status.containers.length > 0;
  }

  /** Ends pods that only the runtime knows, if this agent made or adopted them. Foreign ones are none of its business. */
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
    // What the node forbids does not run, also where it was not seen to run when it was judged.
    const isWanted = desired.has(uid) && desired.findRejection(uid)?.reason !== POD_FORBIDDEN;
    // What was seen before it was forgotten may be what it was before it ended.
    return !workers.isKnown(uid) && !isWanted && !this.#forgottenAt.has(uid);
  }

  #endOrphan(status: PodStatus): void {
    const { workers, isOurs } = this.#options;
    if (!isRunning(status) || !isOwnPod(status, isOurs)) return;
    const { uid } = status;
    this.#logger.info('Pod runs that nobody wants, ending it', { pod: status, podUID: uid }, 2);
    workers.updatePod({ type: 'kill', runningPod: toObservedPod(status) });
    orphanFound.publish({ uid });
  }

  /** Its status tells whose it is, and cannot be had: after each further inspection that fails it is looked at in parts. */
  #lookAtOrphan(uid: string, error: Error): void {
    const { listed, isOurs } = this.#options;
    const before = this.#unreadable.get(uid);
    this.#unreadable.set(uid, error);
    const seen = listed?.find(uid);
    if (seen === undefined || !isRunning(seen) || before === undefined || before === error) return;
    // Each look costs the runtime calls that may hang: others' pods are spared them.
    if (seen.owner !== 'podloop' && !isOurs({ [LABELS.podUid]: uid }, uid)) return;
    listed!.lookAt(uid, this.#closing.signal).then(
      (status) => {
        if (this.#isOrphan(uid)) this.#endOrphan(status);
      },
      (reason: unknown) => {
        if (this.#closing.signal.aborted) return;
        const fields = { podUID: uid, err: reason };
        this.#logger.info('Pod that nobody wants cannot be looked at', fields, 2);
      },
    );
  }

  /** Pods that are wanted and that the workers do not know: torn down, and wanted again under the same uid. */
  #startAnew(): void {
    const { desired, workers, isBeingRemoved, clearRemains, onStartAnew, admitAnew } = this.#options;
    for (const pod of desired.all()) {
      const { uid } = pod.metadata;
      if (workers.isKnown(uid) || desired.findRejection(uid) !== undefined || desired.isHeld(uid)) continue;
      // The next round finds it gone.
      if (isBeingRemoved?.(uid) === true) continue;
      if (this.#tornDown.has(uid)) {
        if (clearRemains !== undefined && this.#hasRemains(uid)) {
          clearRemains(uid);
          continue;
        }
        this.#tornDown.delete(uid);
        onStartAnew?.(uid);
        if (admitAnew?.(pod) === false) continue;
        podStartedAnew.publish({ isStatic: isStaticPod(pod) });
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
        // What one of them cannot do keeps none of the others from it.
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
