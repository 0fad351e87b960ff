/**
 * Removes dead containers and sandboxes that nobody needs any more.
 *
 * In: the observed state of every pod, and which pods are gone. Out: removals. It assumes that the state may
 * be old: what it removes has ended, which stays true; what it did not see stays. Only objects with the
 * agent's mark are ever touched.
 *
 * Source: the kubelet's container garbage collection, and its removal of dead containers as another one dies.
 *
 * @module
 */
import { rm } from 'node:fs/promises';
import { type PodRef } from '#kube/pod/pod-ref.js';
import { type IsOurs, type PodPaths, type PodStatus } from '#watch';
import { type RuntimeChanges } from '../../runtime/runtime-changes.js';
import { Backoff } from '#base/async/backoff.js';
import { type Clock } from '#base/time/clock.js';
import { forEachAtOnce } from '#base/async/for-each-at-once.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { settlesWithin } from '#base/async/settles-within.js';
import { removeContainerLog } from './container-logs.js';
import {
  type ContainerPolicy,
  type DeadContainer,
  findDead,
  KEEP_NEWEST_DEAD,
  planRemovals,
  planRemovalsOnDeath,
  planSandboxRemovals,
} from './dead-containers.js';
import { type ObservedPods } from './observed-pods.js';

/** What {@link ContainerCollector} needs. */
export interface ContainerCollectorOptions {
  readonly clock: Clock;
  readonly pods: ObservedPods;
  readonly isOurs: IsOurs;
  /**
   * Whether nobody wants a pod any more and nothing of it runs; false until every source of pods was read.
   */
  readonly mayRemove: (podUid: string) => boolean;
  readonly changes: Pick<
    RuntimeChanges,
    'stopContainer' | 'removeContainer' | 'stopPodSandbox' | 'removePodSandbox'
  >;
  readonly paths: PodPaths;
  readonly policy?: ContainerPolicy;
  readonly logger?: Logger;
  /** Default: 1 min. */
  readonly periodMs?: number;
}

/** The result of one pass. */
export interface CollectedContainers {
  readonly containers: number;
  readonly sandboxes: number;
  /** Failed removals, which the next pass retries. */
  readonly failed: number;
}

/** Changes have their own limit; this only keeps their queue short for others. */
const REMOVALS_AT_ONCE = 8;
/** How long housekeeping waits, in milliseconds; most removals take less than one second. */
const PATIENCE_MS = 10_000;
/** Housekeeping runs every two seconds, and what cannot be removed now usually cannot be then. */
const RETRY = { initialMs: 1_000, maxMs: 60_000 };
/** The kubelet's shortest. */
const STOP_GRACE_SECONDS = 2;

/** See the module. */
export class ContainerCollector {
  readonly name = 'dead containers';
  readonly #options: ContainerCollectorOptions;
  readonly #logger: Logger;
  /** Containers and sandboxes that any pass is removing. */
  readonly #going = new Set<string>();
  /** Failed removals, and when they are retried, in monotonic milliseconds. */
  readonly #failed = new Map<string, { readonly backoff: Backoff; dueMs: number }>();

  constructor(options: ContainerCollectorOptions) {
    this.#options = options;
    this.#logger = options.logger ?? SILENT_LOGGER;
  }

  /** Collects by the policy every minute, until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, periodMs = 60_000 } = this.#options;
    try {
      for (;;) {
        await clock.sleep(periodMs, signal);
        await this.collect(signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /** One pass over all pods, by the policy. Rejects only with the signal's reason. */
  async collect(signal: AbortSignal): Promise<CollectedContainers> {
    const statuses = this.#allPods();
    const known = new Set(
      statuses.flatMap((each) => [...each.sandboxes, ...each.containers].map(({ id }) => id)),
    );
    for (const id of this.#failed.keys()) if (!known.has(id)) this.#failed.delete(id);
    return await this.#collectFrom(statuses, this.#options.mayRemove, signal);
  }

  /**
   * Removes everything dead of pods that are gone or finished, as the node needs the space.
   *
   * Rejects only with the signal's reason.
   */
  async collectAll(
    isFinished: (podUid: string) => boolean,
    signal: AbortSignal,
  ): Promise<CollectedContainers> {
    const mayGo = (uid: string): boolean => isFinished(uid) || this.#options.mayRemove(uid);
    return await this.#collectFrom(
      this.#allPods().filter(({ uid }) => mayGo(uid)),
      mayGo,
      signal,
    );
  }

  /**
   * Removes everything of pods that are gone, and nothing else; called by housekeeping.
   *
   * Returns `more` while there are such pods. Removals that hang continue in the background after ten
   * seconds.
   */
  async cleanUp(
    view: { mayRemove(podUid: string): boolean },
    signal: AbortSignal,
  ): Promise<'more' | undefined> {
    const gone = this.#allPods().filter((pod) => this.#hasOurs(pod) && view.mayRemove(pod.uid));
    if (gone.length === 0) return undefined;
    await settlesWithin(
      this.#collectFrom(gone, () => true, signal),
      PATIENCE_MS,
      this.#options.clock,
    );
    signal.throwIfAborted();
    // The next view of these pods shows whether all of it is gone.
    return 'more';
  }

  /**
   * After a container of a pod died: removes dead ones of the same name beyond those to keep, or all if the
   * pod is gone.
   *
   * Rejects only with the signal's reason.
   */
  async containerDied(podUid: string, containerId: string, signal: AbortSignal): Promise<void> {
    const { status } = this.#options.pods.get(podUid);
    const died = status.containers.find(({ id }) => id === containerId);
    if (died === undefined) return;
    const { clock, isOurs, mayRemove, policy = KEEP_NEWEST_DEAD } = this.#options;
    const dead = findDead(status, mayRemove(podUid), isOurs);
    const removals = planRemovalsOnDeath(dead, died.name, policy, clock.now());
    // In a pod that stays, the next start waits for this.
    await this.#removeContainers(removals, signal, !dead.isGone);
  }

  #allPods(): PodStatus[] {
    const { pods } = this.#options;
    return [...pods.uids()].map((uid) => pods.get(uid).status);
  }

  /** Nothing is ever removed from foreign pods. */
  #hasOurs({ uid, sandboxes, containers }: PodStatus): boolean {
    return [...sandboxes, ...containers].some(({ labels }) => this.#options.isOurs(labels, uid));
  }

  async #collectFrom(
    statuses: readonly PodStatus[],
    mayRemove: (podUid: string) => boolean,
    signal: AbortSignal,
  ): Promise<CollectedContainers> {
    const { clock, isOurs, policy = KEEP_NEWEST_DEAD } = this.#options;
    const pods = statuses.map((status) => ({ status, isGone: mayRemove(status.uid) }));
    const dead = pods.map(({ status, isGone }) => findDead(status, isGone, isOurs));
    const removals = planRemovals(dead, policy, clock.now());
    const removed = await this.#removeContainers(removals, signal);
    const sandboxes = pods.flatMap(({ status, isGone }) =>
      planSandboxRemovals(status, isGone, isOurs, removed).map((id) => ({ id, pod: status })),
    );
    let gone = 0;
    await forEachAtOnce(
      sandboxes,
      REMOVALS_AT_ONCE,
      async ({ id, pod }) => {
        if (await this.#settle(id, pod, () => this.#removeSandbox(id, pod))) gone++;
      },
      signal,
    );
    const failed = removals.length - removed.size + sandboxes.length - gone;
    return { containers: removed.size, sandboxes: gone, failed };
  }

  /** Returns the ids of those that are gone. */
  async #removeContainers(
    removals: readonly DeadContainer[],
    signal: AbortSignal,
    canWait = false,
  ): Promise<ReadonlySet<string>> {
    const removed = new Set<string>();
    await forEachAtOnce(
      removals,
      REMOVALS_AT_ONCE,
      async (removal) => {
        const { id } = removal.container;
        const remove = (): Promise<void> => this.#removeContainer(removal, canWait);
        if (await this.#settle(id, removal.pod, remove)) removed.add(id);
      },
      signal,
    );
    return removed;
  }

  async #removeContainer({ pod, container }: DeadContainer, canWait: boolean): Promise<void> {
    const { changes, paths } = this.#options;
    const { id, name, state, logPath, restartCount } = container;
    const others = this.#options.pods.get(pod.uid).status.containers.filter((other) => other.id !== id);
    // The runtime has lost track of it: it may run.
    if (state === 'unknown') await changes.stopContainer(id, STOP_GRACE_SECONDS, { pod });
    this.#logger.info('RemoveContainer', { pod, containerID: id }, 2);
    // Its files first: once the container is gone nobody knows them. A runtime that has lost containers may
    // have restarted its count; files that also belong to another container stay.
    if (!others.some((other) => other.logPath === logPath))
      await removeContainerLog(logPath, paths.podLogsDir);
    if (!others.some((other) => other.name === name && other.restartCount === restartCount)) {
      await rm(paths.terminationMessageFile(pod.uid, name, restartCount), { force: true });
    }
    await changes.removeContainer(id, { pod, canWait });
  }

  async #removeSandbox(id: string, pod: PodRef): Promise<void> {
    const { changes } = this.#options;
    this.#logger.info('Removing sandbox', { pod, sandboxID: id }, 4);
    // It may have ended by itself, and then its network still exists.
    await changes.stopPodSandbox(id, { pod });
    await changes.removePodSandbox(id, { pod });
  }

  /**
   * Returns whether it is gone. Leaves alone what another pass is removing, and what failed until its retry.
   */
  async #settle(id: string, pod: PodRef, remove: () => Promise<void>): Promise<boolean> {
    const { clock } = this.#options;
    const failed = this.#failed.get(id);
    if (this.#going.has(id) || (failed !== undefined && failed.dueMs > clock.monotonicMs())) return false;
    this.#going.add(id);
    try {
      await remove();
      this.#failed.delete(id);
      return true;
    } catch (error) {
      this.#logger.error('Failed to remove', error, { pod, id });
      const backoff = failed?.backoff ?? new Backoff(RETRY);
      this.#failed.set(id, { backoff, dueMs: clock.monotonicMs() + backoff.nextMs() });
      return false;
    } finally {
      this.#going.delete(id);
    }
  }
}
