import { type StoppedPods } from '../../desired/stopped-pods.js';
import { DEFAULT_GRACE_SECONDS } from '#kube/pod/default-grace.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { computePodQos } from '#kube/pod/pod-qos.js';
import { toV1Time, type V1PodStatus } from '#kube/pod/v1-pod-status.js';
import { type PodTable, type PodViews } from '../objects/pod-table.js';
import { type PodDeletion, type ServedPod } from '../objects/served-pod.js';
import { type StatusManager } from '../../status/status-manager.js';
import { type DesiredPods } from '../../pods/loop/desired-pods.js';
import { untilNextBeatMs } from '#base/async/beat.js';
import { type Clock } from '#base/time/clock.js';
import { readUntilAborted } from '#base/async/read-until-aborted.js';
import { type PodWorkers } from '../../pods/workers/pod-workers.js';
import { type CreationTimes } from './creation-times.js';

/** Sources of {@link ServedPods}. */
export interface ServedPodsOptions {
  readonly clock: Clock;
  readonly desired: Pick<DesiredPods, 'find' | 'uids' | 'has' | 'revision'>;
  readonly manager: Pick<StatusManager, 'find' | 'findPod' | 'list'>;
  readonly workers: Pick<PodWorkers, 'isKnown' | 'isFinished' | 'revision'>;
  readonly creations: CreationTimes;
  readonly stopped: Pick<StoppedPods, 'find' | 'revision'>;
}

/** The pods of the agent as its API shows them: those that are wanted, and those that are still ending. */
export class ServedPods implements PodViews {
  readonly #options: ServedPodsOptions;
  /** Since when no source wants a pod any more. */
  readonly #leaving = new Map<string, PodDeletion>();
  readonly #pending = new WeakMap<NodePod, V1PodStatus>();

  constructor(options: ServedPodsOptions) {
    this.#options = options;
  }

  /** Changes with every change that no status shows. */
  get revision(): string {
    const { desired, workers, stopped } = this.#options;
    return [desired, workers, stopped].map(({ revision }) => revision).join(' ');
  }

  uids(): Iterable<string> {
    const { desired, manager } = this.#options;
    return new Set([...desired.uids(), ...manager.list().map(({ pod }) => pod.uid)]);
  }

  find(uid: string): ServedPod | undefined {
    const { desired, creations, stopped } = this.#options;
    const pod = desired.find(uid) ?? this.#findEnding(uid);
    const deletion = pod === undefined ? undefined : this.#findDeletion(pod);
    const isOver = pod !== undefined && stopped.find(pod)?.isOver === true;
    // With no grace period nobody waits for the end.
    if (pod === undefined || isOver || deletion?.deletionGracePeriodSeconds === 0) {
      this.#leaving.delete(uid);
      creations.forget(uid);
      return undefined;
    }
    const status = this.#options.manager.find(uid)?.status ?? this.#pendingStatus(pod);
    const createdAtMs = creations.getMs(uid, Date.parse(status.startTime ?? '') || undefined);
    return { pod, status, createdAtMs, deletion };
  }

  /**
   * Forgets the creation times of pods that disappeared while no agent ran, and that have nothing left to
   * end.
   *
   * Call it when every source was read.
   */
  forgetAbsent(isRunning: (uid: string) => boolean): void {
    const { creations, workers } = this.#options;
    const uids = new Set(this.uids());
    creations.keepOnly((uid) => uids.has(uid) || workers.isKnown(uid) || isRunning(uid));
  }

  #findEnding(uid: string): NodePod | undefined {
    const { manager, workers } = this.#options;
    return workers.isKnown(uid) && !workers.isFinished(uid) ? manager.findPod(uid) : undefined;
  }

  #findDeletion(pod: NodePod): PodDeletion | undefined {
    const { desired, clock, stopped } = this.#options;
    const { metadata, spec } = pod;
    const { uid } = metadata;
    const stop = stopped.find(pod);
    if (stop !== undefined) {
      const { deletionTimestamp, gracePeriodSeconds } = stop;
      return { deletionTimestamp, deletionGracePeriodSeconds: gracePeriodSeconds };
    }
    if (desired.has(uid)) {
      this.#leaving.delete(uid);
      return undefined;
    }
    const known = this.#leaving.get(uid);
    if (known !== undefined) return known;
    const graceSeconds = spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS;
    const leaving: PodDeletion = {
      deletionTimestamp: toV1Time(clock.now() + graceSeconds * 1_000),
      deletionGracePeriodSeconds: graceSeconds,
    };
    this.#leaving.set(uid, leaving);
    return leaving;
  }

  /** For a wanted pod without a status yet. */
  #pendingStatus(pod: NodePod): V1PodStatus {
    const known = this.#pending.get(pod);
    if (known !== undefined) return known;
    const status: V1PodStatus = {
      phase: 'Pending',
      conditions: [],
      containerStatuses: [],
      qosClass: computePodQos(pod.spec),
    };
    this.#pending.set(pod, status);
    return status;
  }
}

/** What {@link followPods} needs. */
export interface FollowPodsOptions {
  readonly clock: Clock;
  readonly table: PodTable;
  readonly manager: Pick<StatusManager, 'subscribe'>;
  /** Changes when there is something new that no status shows, such as an end that only the workers know. */
  readonly revision: () => string;
  /** Called after each refresh of all pods. */
  readonly onLook?: () => void;
  readonly signal: AbortSignal;
}

/** How often to check whether all pods have to be refreshed. */
const ASK_MS = 1_000;
/** How often they are refreshed in any case. */
const LOOK_MS = 30_000;

/** Keeps a table up to date until the signal aborts. */
export async function followPods(options: FollowPodsOptions): Promise<void> {
  const { clock, table, manager, revision, onLook, signal } = options;
  using changes = manager.subscribe();
  const follow = async (): Promise<void> => {
    for await (const change of readUntilAborted(changes, signal)) {
      if (change.type === 'resync') table.refreshAll();
      else table.refresh(change.type === 'status' ? change.record.pod.uid : change.pod.uid);
    }
  };
  const look = async (): Promise<void> => {
    let seen: string | undefined;
    let dueMs = -Infinity;
    while (!signal.aborted) {
      const current = revision();
      if (current !== seen || clock.monotonicMs() >= dueMs) {
        seen = current;
        dueMs = clock.monotonicMs() + LOOK_MS;
        table.refreshAll();
        onLook?.();
      }
      await clock.sleep(untilNextBeatMs(clock, ASK_MS), signal).catch(() => undefined);
    }
  };
  await Promise.all([follow(), look()]);
}
