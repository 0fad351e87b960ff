import { type NodePod } from '#kube/pod/node-pod.js';
import { type IsOurs, type PodCache, type PodStatus } from '#watch';
import { PodloopError } from '#base/errors/errors.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { type PodSyncer } from '../workers/pod-syncer.js';

import { type DesiredPods, type Rejection } from '../loop/desired-pods.js';
import { findForeignClaim, isForeign } from './foreign-pods.js';

/** What a {@link ForeignPodsWatch} needs. */
export interface ForeignPodsWatchOptions {
  readonly logger?: Logger;
  readonly cache: Pick<PodCache, 'getLastKnown' | 'uids'>;
  readonly desired: Pick<DesiredPods, 'find'>;
  readonly isOurs: IsOurs;
  /** What kept a pod from running is gone: judge it again. */
  readonly onFree: (pod: NodePod) => void;
}

/** Tracks owned pods that cannot run because of a foreign pod, and notices when that is over. */
export class ForeignPodsWatch {
  readonly name = 'foreign pods';
  readonly #options: ForeignPodsWatchOptions;
  readonly #logger: Logger;
  /** By uid: the last warning, and whether the pod is kept from running. */
  readonly #seen = new Map<string, { readonly warning: string; readonly isRejected: boolean }>();

  constructor(options: ForeignPodsWatchOptions) {
    this.#options = options;
    this.#logger = options.logger ?? SILENT_LOGGER;
  }

  /** Why the pod cannot run here now; logs it once. */
  findObstacle(pod: NodePod): Rejection | undefined {
    const { isOurs } = this.#options;
    const { uid } = pod.metadata;
    const { rejection, warning } = findForeignClaim(pod, this.#statuses(), isOurs);
    if (warning === undefined) this.#seen.delete(uid);
    else {
      if (this.#seen.get(uid)?.warning !== warning) {
        this.#logger.warn(warning, { pod: pod.metadata, podUID: uid });
      }
      this.#seen.set(uid, { warning, isRejected: rejection !== undefined });
    }
    return rejection;
  }

  /** Lets pods be judged again whose obstacle is gone; called by housekeeping. */
  cleanUp(): void {
    const { desired, onFree, isOurs } = this.#options;
    for (const [uid, { isRejected }] of this.#seen) {
      const pod = desired.find(uid);
      if (pod === undefined) this.#seen.delete(uid);
      else if (isRejected && findForeignClaim(pod, this.#statuses(), isOurs).rejection === undefined) {
        this.#seen.delete(uid);
        onFree(pod);
      }
    }
  }

  *#statuses(): Generator<PodStatus> {
    const { cache } = this.#options;
    // A pod whose status is unavailable for a while is still in the way.
    for (const uid of cache.uids()) yield cache.getLastKnown(uid);
  }
}

/**
 * Wraps a syncer so that it does nothing to a pod whose uid a foreign pod has in the runtime.
 *
 * The foreign pod may have come after the owned one was admitted. Such a sync fails, and such an end
 * completes at once.
 */
export function sparingForeignPods(syncer: PodSyncer, isOurs: IsOurs): PodSyncer {
  return {
    syncPod: async (work, signal) => {
      if (isForeign(work.observed, isOurs)) {
        const { uid } = work.pod.metadata;
        throw new PodloopError('POD_SYNC_FAILED', `the uid ${uid} is that of a pod of somebody else's`);
      }
      return await syncer.syncPod(work, signal);
    },
    isSettled: (pod, observed) => syncer.isSettled?.(pod, observed) ?? false,
    syncTerminatingPod: async (work, signal) => {
      if (!isForeign(work.observed, isOurs)) await syncer.syncTerminatingPod(work, signal);
    },
    syncTerminatingRuntimePod: async (work, signal) => await syncer.syncTerminatingRuntimePod(work, signal),
    syncTerminatedPod: async (work, signal) => await syncer.syncTerminatedPod(work, signal),
  };
}
