import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodUpdate, type PodUpdateType } from '#kube/pod/pod-update.js';
import { type PodLifecycleEvent } from '#watch';
import { type ProbeResult } from '../../probes/probe-result.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { untilNextBeatMs } from '#base/async/beat.js';
import { podRefOf } from '../workers/pod-demand.js';
import { EarlyEvents } from './early-events.js';
import { orderAdditions } from './order-additions.js';
import { type PodEvents, type SyncLoopEvents } from './sync-loop-events.js';
import { type Handoff } from './sync-loop-handoff.js';
import { type SyncLoopOptions } from './sync-loop-ports.js';

/** The inputs that wait for the sync loop. */
export interface SyncLoopInputs {
  readonly updates: Handoff<PodUpdate>;
  readonly events: SyncLoopEvents;
  readonly probeResults: Handoff<ProbeResult>;
}

type HandlerName = 'handlePodAdditions' | 'handlePodUpdates' | 'handlePodRemoves' | 'handlePodReconcile';

const HANDLERS: Readonly<Record<PodUpdateType, HandlerName>> = {
  ADD: 'handlePodAdditions',
  UPDATE: 'handlePodUpdates',
  // A deletion only says when to end the pod; it arrives as an update.
  DELETE: 'handlePodUpdates',
  REMOVE: 'handlePodRemoves',
  RECONCILE: 'handlePodReconcile',
};

/** The words for success and failure. */
const PROBE_WORDS: Readonly<Record<ProbeResult['type'], readonly [string, string]>> = {
  liveness: ['healthy', 'unhealthy'],
  readiness: ['ready', 'not ready'],
  startup: ['started', 'unhealthy'],
};

/**
 * Minimum time between housekeepings, so that pods that end one after the other do not each cause a scan of
 * all pods.
 */
const HOUSEKEEPING_GAP_MS = 100;

/**
 * How long nothing must have happened to pods before housekeeping runs seldom, in milliseconds.
 *
 * Housekeeping scans every pod and every pod folder, and finds little while nothing happens.
 */
const QUIET_AFTER_MS = 10_000;
const QUIET_HOUSEKEEPING_MS = 30_000;

/** The work of one slice of the sync loop: takes pending inputs and due timers, and calls the handlers. */
export class SyncLoopWork {
  readonly #options: SyncLoopOptions;
  readonly #inputs: SyncLoopInputs;
  readonly #logger: Logger;
  readonly #syncPeriodMs: number;
  readonly #housekeepingPeriodMs: number;
  /** Pods of the current update, in the order in which they are handled, and how many are done. */
  #podsOfUpdate: readonly NodePod[] = [];
  #handledOfUpdate = 0;
  /** Events that came before their pods were wanted. */
  readonly #early: EarlyEvents;
  /** Pods to sync without an input of their own: their time is up, or events were lost. */
  readonly #dueUids = new Set<string>();
  /** Monotonic milliseconds. */
  #nextSyncMs: number;
  #nextHousekeepingMs: number;
  #housekeptMs = -Infinity;
  /** When something last happened to a pod. */
  #happenedMs: number;

  constructor(options: SyncLoopOptions, inputs: SyncLoopInputs) {
    this.#options = options;
    this.#inputs = inputs;
    this.#logger = options.logger ?? SILENT_LOGGER;
    this.#early = new EarlyEvents({ podCapacity: options.podCapacity ?? 10_000 });
    this.#syncPeriodMs = options.syncPeriodMs ?? 1_000;
    this.#housekeepingPeriodMs = options.housekeepingPeriodMs ?? 2_000;
    this.#nextSyncMs = options.clock.monotonicMs() + this.#syncPeriodMs;
    this.#nextHousekeepingMs = options.clock.monotonicMs() + this.#housekeepingPeriodMs;
    this.#happenedMs = options.clock.monotonicMs();
  }

  /** Pods with events that came before they were wanted, and how many such events were dropped. */
  get early(): Pick<EarlyEvents, 'size' | 'folded'> {
    return this.#early;
  }

  /** Milliseconds until the next timer is due; to be called when there is nothing else to do. */
  untilNextTimerMs(): number {
    const dueInMs = this.#options.workers.nextDueInMs ?? Infinity;
    this.#nextSyncMs = Math.min(this.#nextSyncMs, this.#options.clock.monotonicMs() + dueInMs);
    const next = Math.min(this.#nextSyncMs, this.#nextHousekeepingMs);
    return Math.max(0, next - this.#options.clock.monotonicMs());
  }

  /** Makes housekeeping due now, or as soon as the minimum time since the last one has passed. */
  housekeepSoon(): void {
    this.#noteHappening();
    const soonMs = Math.max(this.#options.clock.monotonicMs(), this.#housekeptMs + HOUSEKEEPING_GAP_MS);
    this.#nextHousekeepingMs = Math.min(this.#nextHousekeepingMs, soonMs);
  }

  /** Adds pods to the due ones; ignores those that nobody wants. */
  syncSoon(uids: Iterable<string>): void {
    for (const uid of uids) if (this.#options.desired.has(uid)) this.#dueUids.add(uid);
  }

  /**
   * Does a little of everything that waits, so that no input waits for the end of another; false when nothing
   * waits.
   */
  doSome(): boolean {
    const pieces = [
      this.#handleUpdate(),
      this.#handleEvents(),
      this.#handleProbeResult(),
      this.#handleDue(),
      this.#handleTimers(),
    ];
    return pieces.includes(true);
  }

  /** Handles one pod of the current update. */
  #handleUpdate(): boolean {
    const update = this.#inputs.updates.peek();
    if (update === undefined) return false;
    this.#noteHappening();
    const { type, source, pods } = update;
    if (this.#handledOfUpdate === 0) {
      this.#podsOfUpdate = type === 'ADD' ? orderAdditions(pods, this.#options.findObserved) : pods;
      this.#logger.info(
        `SyncLoop ${type}`,
        { source, pods: pods.map(podRefOf) },
        type === 'RECONCILE' ? 4 : 2,
      );
    }
    const pod = this.#podsOfUpdate[this.#handledOfUpdate++];
    if (pod !== undefined) {
      this.#try(type, () => this.#options.handlers[HANDLERS[type]]([pod]));
      this.#handleEarlyEvents(pod.metadata.uid);
    }
    if (this.#handledOfUpdate >= pods.length) {
      this.#handledOfUpdate = 0;
      this.#inputs.updates.finish();
    }
    return true;
  }

  /** Handles all events of one pod. */
  #handleEvents(): boolean {
    const happened = this.#inputs.events.takePod() ?? this.#takeNeverWanted();
    if (happened === undefined) {
      if (!this.#inputs.events.takeResync()) return false;
      this.#noteHappening();
      for (const uid of this.#options.desired.uids()) this.#dueUids.add(uid);
      return true;
    }
    this.#noteHappening();
    const { uid, events, diedContainerIds } = happened;
    const { desired, workers } = this.#options;
    const pod = desired.find(uid);
    // Its manifest may not have been read yet: the events are handled when the pod is wanted.
    if (pod === undefined && !this.#options.seenAllSources() && this.#early.keep(happened)) return true;
    const worthy = events.filter(isWorthy);
    for (const event of worthy) this.#logEvent(event, pod);
    if (pod !== undefined && worthy.length > 0) this.#sync('PLEG', [pod]);
    if (pod !== undefined || workers.isKnown(uid)) this.#deleteDeadContainers(uid, diedContainerIds);
    return true;
  }

  /**
   * Handles what happened to a pod before it was wanted: only logs it, as the pod has just been added and is
   * synced anyway.
   */
  #handleEarlyEvents(uid: string): void {
    const happened = this.#early.take(uid);
    const pod = this.#options.desired.find(uid);
    if (happened === undefined || pod === undefined) return;
    for (const event of happened.events.filter(isWorthy)) this.#logEvent(event, pod);
    this.#deleteDeadContainers(uid, happened.diedContainerIds);
  }

  /** Once all sources were read and applied, returns the events of pods that no source wants. */
  #takeNeverWanted(): PodEvents | undefined {
    return this.#options.seenAllSources() ? this.#early.takeAny() : undefined;
  }

  #handleProbeResult(): boolean {
    const result = this.#inputs.probeResults.peek();
    if (result === undefined) return false;
    this.#inputs.probeResults.finish();
    this.#try('probe', () => this.#takeProbeResult(result));
    return true;
  }

  /** Handles one due pod. */
  #handleDue(): boolean {
    const [uid] = this.#dueUids;
    if (uid === undefined) return false;
    this.#dueUids.delete(uid);
    const pod = this.#options.desired.find(uid);
    if (pod !== undefined) this.#sync('SYNC', [pod]);
    // Nobody wants it any more, but it has not ended yet.
    else this.#options.workers.retry(uid);
    return true;
  }

  #handleTimers(): boolean {
    const { clock, workers, seenAllSources, handlers, desired } = this.#options;
    const now = clock.monotonicMs();
    const isSyncDue = now >= this.#nextSyncMs;
    const isHousekeepingDue = now >= this.#nextHousekeepingMs;
    if (isSyncDue) {
      this.#nextSyncMs = now + untilNextBeatMs(clock, this.#syncPeriodMs);
      const uids = workers.takeDue();
      for (const uid of uids) this.#dueUids.add(uid);
      // The workers do not know held pods yet.
      for (const { metadata, spec } of desired.held())
        if (spec.activeDeadlineSeconds !== undefined) this.#dueUids.add(metadata.uid);
      if (uids.length > 0) {
        const pods = uids.map((uid) => {
          const pod = desired.find(uid);
          return pod === undefined ? uid : podRefOf(pod);
        });
        this.#logger.info('SyncLoop (SYNC) pods', { total: uids.length, pods }, 4);
      }
    }
    if (isHousekeepingDue) {
      // The state after the last run: this run has only just begun when the call returns.
      const isQuiet = handlers.isCleanedUp === true && now - this.#happenedMs >= QUIET_AFTER_MS;
      this.#nextHousekeepingMs =
        now +
        (isQuiet ? Math.max(QUIET_HOUSEKEEPING_MS, this.#housekeepingPeriodMs) : this.#housekeepingPeriodMs);
      this.#housekeptMs = now;
      if (seenAllSources()) this.#try('housekeeping', () => handlers.handlePodCleanups());
      else this.#logger.info("SyncLoop (housekeeping, skipped): sources aren't ready yet", {}, 4);
    }
    return isSyncDue || isHousekeepingDue;
  }

  /** Restores the usual period of housekeeping. */
  #noteHappening(): void {
    const now = this.#options.clock.monotonicMs();
    this.#happenedMs = now;
    this.#nextHousekeepingMs = Math.min(this.#nextHousekeepingMs, now + this.#housekeepingPeriodMs);
  }

  #takeProbeResult(result: ProbeResult): void {
    const { desired, readiness } = this.#options;
    const { podUid, containerId, type } = result;
    const isGood = result.result === 'success';
    if (type === 'liveness' && isGood) return;
    if (type === 'readiness') readiness.setContainerReadiness(podUid, containerId, isGood);
    if (type === 'startup') readiness.setContainerStartup(podUid, containerId, isGood);
    const status = PROBE_WORDS[type][isGood ? 0 : 1];
    const pod = desired.find(podUid);
    if (pod === undefined) {
      this.#logger.info('SyncLoop (probe): ignore irrelevant update', { podUID: podUid, update: result }, 4);
      return;
    }
    this.#logger.info('SyncLoop (probe)', { probe: type, status, pod: podRefOf(pod) }, 1);
    this.#sync('probe', [pod]);
  }

  #sync(cause: string, pods: readonly NodePod[]): void {
    this.#try(cause, () => this.#options.handlers.handlePodSyncs(pods));
  }

  #deleteDeadContainers(uid: string, diedContainerIds: readonly string[]): void {
    if (diedContainerIds.length === 0) return;
    const { cache, workers, deadContainers } = this.#options;
    const { status, error } = cache.get(uid);
    if (error !== undefined) return;
    const removeAll = workers.shouldPodContentBeRemoved(uid);
    for (const exitedContainerId of diedContainerIds) {
      this.#try('dead containers', () =>
        deadContainers.deleteContainersBeyondNewest({ status, exitedContainerId, removeAll }),
      );
    }
  }

  #logEvent(event: PodLifecycleEvent, pod: NodePod | undefined): void {
    const v = pod === undefined ? 4 : 2;
    if (!this.#logger.enabled(v) || !('pod' in event)) return;
    const shown = {
      ID: event.pod.uid,
      Type: event.type,
      Data: 'containerId' in event ? event.containerId : null,
    };
    if (pod === undefined) {
      this.#logger.info(
        'SyncLoop (PLEG): pod does not exist, ignore irrelevant event',
        { podUID: event.pod.uid, event: shown },
        v,
      );
    } else this.#logger.info('SyncLoop (PLEG): event for pod', { pod: podRefOf(pod), event: shown }, v);
  }

  /** Catches errors, so that a bug in the handling of one input does not stop the others. */
  #try(cause: string, handle: () => void): void {
    try {
      handle();
    } catch (error) {
      this.#logger.error('SyncLoop: handling failed', error, { cause });
    }
  }
}

/** A removal is of no consequence for the pod, and the agent may have removed it itself. */
function isWorthy({ type }: PodLifecycleEvent): boolean {
  return type !== 'ContainerRemoved';
}
