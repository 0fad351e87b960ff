/**
 * Holds pods to the limits of their emptyDirs on the disk: whoever goes beyond one is evicted.
 *
 * In: the pods that may run. Out: evictions, in the kubelet's words. It looks now and then, so that a pod may go well
 * beyond its limit before it is seen: what has to hold at every moment is an emptyDir in memory, which the kernel limits.
 * One folder is measured at a time, and measuring takes a tenth of the time at most.
 *
 * Source: https://kubernetes.io/docs/concepts/storage/volumes/#emptydir
 *
 * @module
 */
import { type NodePod } from '#kube/pod/node-pod.js';
import { type Volume } from '#kube/pod/volume.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { repeatWithRests } from '#base/async/repeat-with-rests.js';
import { sizeLimitOf } from './empty-dir.js';
import { measureFolder } from './measure-folder.js';

/** What {@link EmptyDirLimits} needs. */
export interface EmptyDirLimitsOptions {
  readonly clock: Clock;
  readonly logger?: Logger;
  /** Pods that are not being ended. */
  readonly pods: () => Iterable<NodePod>;
  /** Where an emptyDir is on the node, whether it is there or not. */
  readonly folderOf: (pod: NodePod, volume: Volume) => string;
  /** Ends the pod for good; returns at once. */
  readonly evict: (pod: NodePod, message: string) => void;
  /** Bytes in use below a folder; see {@link measureFolder}. */
  readonly measure?: (folder: string, signal: AbortSignal) => Promise<bigint>;
}

/** See the module. */
export class EmptyDirLimits {
  readonly #options: EmptyDirLimitsOptions;
  readonly #logger: Logger;
  /** Pods of which was said that a volume cannot be measured. */
  readonly #unknown = new Set<string>();

  constructor(options: EmptyDirLimitsOptions) {
    this.#options = options;
    this.#logger = options.logger ?? SILENT_LOGGER;
  }

  /** Looks again and again until the signal aborts; resolves then. */
  async run(signal: AbortSignal): Promise<void> {
    await repeatWithRests(this.#options.clock, signal, async () => this.check(signal));
  }

  /** Looks once. Never rejects. */
  async check(signal: AbortSignal): Promise<void> {
    const pods: NodePod[] = [];
    for (const pod of this.#options.pods()) if ((pod.spec.volumes ?? []).length > 0) pods.push(pod);
    for (const pod of pods) {
      for (const volume of pod.spec.volumes ?? []) {
        if (signal.aborted) return;
        if (await this.#isOver(pod, volume, signal)) {
          const limit = volume.emptyDir!.sizeLimit!;
          // The space at the end is a kubelet's.
          this.#options.evict(
            pod,
            `Usage of EmptyDir volume "${volume.name}" exceeds the limit "${limit}". `,
          );
          break;
        }
      }
    }
    if (this.#unknown.size === 0) return;
    const seen = new Set(pods.map(({ metadata }) => metadata.uid));
    for (const uid of this.#unknown) if (!seen.has(uid)) this.#unknown.delete(uid);
  }

  async #isOver(pod: NodePod, volume: Volume, signal: AbortSignal): Promise<boolean> {
    const { folderOf, measure = measureFolder } = this.#options;
    const limit = sizeLimitOf(volume.emptyDir?.sizeLimit);
    // The kernel holds what is in memory to it.
    if (limit === undefined || volume.emptyDir?.medium === 'Memory') return false;
    try {
      return (await measure(folderOf(pod, volume), signal)) > limit;
    } catch (error) {
      const { uid } = pod.metadata;
      if (signal.aborted || this.#unknown.has(uid)) return false;
      this.#unknown.add(uid);
      this.#logger.warn('It cannot be told how much a volume uses: its limit does not hold', {
        ...{ podUID: uid, volumeName: volume.name, err: error },
      });
      return false;
    }
  }
}
