/**
 * Removes dead containers and sandboxes that nobody needs any more.
 *
 * In: what was observed of every pod, and which pods are gone. Out: removals. It assumes that what was observed may be
 * old: what it removes has ended, and nothing makes that untrue; what it did not see, it leaves. Only what carries our
 * mark is ever touched.
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
  /** Whether nobody wants a pod any more and nothing of it runs; false as long as a source of pods was not seen. */
  readonly mayRemove: (podUid: string) => boolean;
  readonly changes: Pick<
    RuntimeChanges,
    'stopContainer' | 'removeContainer' | 'stopPodSandbox' | 'removePodSandbox'
  >;
  readonly paths: PodPaths;
  readonly policy?: ContainerPolicy;
  readonly logger?: Logger;
  /** 1 min unless told. */
  readonly periodMs?: number;
}

/** What one pass did. */
export interface CollectedContainers {
  readonly containers: number;
  readonly sandboxes: number;
  /** What could not be removed, and is tried again in the next pass. */
  readonly failed: number;
}

/** The changes have a bound of their own; this only keeps their queue short, so that others have their turn. */
const REMOVALS_AT_ONCE = 8;
/** So long housekeeping waits, in milliseconds; most removals take less than one second. */
const PATIENCE_MS = 10_000;
/** Housekeeping comes every two seconds, and what cannot be removed now mostly cannot be then. */
const RETRY = { initialMs: 1_000, maxMs: 60_000 };
/** The kubelet's shortest. */
const STOP_GRACE_SECONDS = 2;

/** See the module. */
export class ContainerCollector {
  readonly name = 'dead containers';
  readonly #options: ContainerCollectorOptions;
  readonly #logger: Logger;
  /** Containers and sandboxes that are being removed, by whichever pass. */
  readonly #going = new Set<string>();
  /** Those that could not be, and when they are tried again, in monotonic milliseconds. */
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

  /** One pass over all pods, by the policy. Rejects with the signal's reason alone. */
  async collect(signal: AbortSignal): Promise<CollectedContainers> {
    const statuses = this.#allPods();
    const known = new Set(
      statuses.flatMap((each) => [...each.sandboxes, ...each.containers].map(({ id }) => id)),
    );
    for (const id of this.#failed.keys()) if (!known.has(id)) this.#failed.delete(id);
    return await this.#collectFrom(statuses, this.#options.mayRemove, signal);
  }

  /**
   * All that has ended of pods that are gone or finished: the node needs what it takes. Rejects with the signal's reason
   * alone.
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
   * Everything of pods that are gone, and nothing else: what housekeeping calls. `more` while there are such pods. What
   * hangs goes on beside after ten seconds, and holds up nothing else.
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
    // Whether all of it is gone shows in the next look at these pods.
    return 'more';
  }

  /**
   * A container of a pod died: removes the dead ones of the same name beyond what is kept of each, or everything dead when the
   * pod is gone. Rejects with the signal's reason alone.
   */
  async containerDied(podUid: string, containerId: string, signal: AbortSignal): Promise<void> {
    const { status } = this.#options.pods.get(podUid);
    const died = status.containers.find(({ id }) => id === containerId);
    if (died === undefined) return;
    const { clock, isOurs, mayRemove, policy = KEEP_NEWEST_DEAD } = this.#options;
    const dead = findDead(status, mayRemove(podUid), isOurs);
    const removals = planRemovalsOnDeath(dead, died.name, policy, clock.now());
    // Of a pod that stays: what it waits for is to start again.
    await this.#removeContainers(removals, signal, !dead.isGone);
  }

  #allPods(): PodStatus[] {
    const { pods } = this.#options;
    return [...pods.uids()].map((uid) => pods.get(uid).status);
  }

  /** Of others' pods nothing is ever removed. */
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

  /** Gives the ids of those that are gone. */
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
    // The runtime has lost sight of it: it may run.
    if (state === 'unknown') await changes.stopContainer(id, STOP_GRACE_SECONDS, { pod });
    this.#logger.info('RemoveContainer', { pod, containerID: id }, 2);
    // Its files first: once the container is gone nobody knows of them. A runtime that has lost containers may have
    // counted again from the start; what is another one's, too, stays.
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
    // Its end may have come by itself, and then its network is still there.
    await changes.stopPodSandbox(id, { pod });
    await changes.removePodSandbox(id, { pod });
  }

  /** Whether it is gone. What somebody else is at is left to him, and what has just failed to its time. */
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
