/**
 * Evicts pods whose emptyDirs on disk exceed their limits.
 *
 * In: the pods that may run. Out: evictions, in the kubelet's words. It measures now and then, so a pod may
 * far exceed its limit before that is noticed. A strict limit needs an emptyDir in memory, which the kernel
 * enforces. One folder is measured at a time, and measuring takes at most a tenth of the time.
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
  /** The path of an emptyDir on the node, whether it exists or not. */
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
  /** Pods for which it was logged that a volume cannot be measured. */
  readonly #unknown = new Set<string>();

  constructor(options: EmptyDirLimitsOptions) {
    this.#options = options;
    this.#logger = options.logger ?? SILENT_LOGGER;
  }

  /** Measures repeatedly until the signal aborts; then resolves. */
  async run(signal: AbortSignal): Promise<void> {
    await repeatWithRests(this.#options.clock, signal, async () => this.check(signal));
  }

  /** Measures once. Never rejects. */
  async check(signal: AbortSignal): Promise<void> {
    const pods: NodePod[] = [];
    for (const pod of this.#options.pods()) if ((pod.spec.volumes ?? []).length > 0) pods.push(pod);
    for (const pod of pods) {
      for (const volume of pod.spec.volumes ?? []) {
        if (signal.aborted) return;
        if (await this.#isOver(pod, volume, signal)) {
          const limit = volume.emptyDir!.sizeLimit!;
          // The trailing space is a kubelet's.
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
    // The kernel limits volumes in memory.
    if (limit === undefined || volume.emptyDir?.medium === 'Memory') return false;
    try {
      return (await measure(folderOf(pod, volume), signal)) > limit;
    } catch (error) {
      const { uid } = pod.metadata;
      if (signal.aborted || this.#unknown.has(uid)) return false;
      this.#unknown.add(uid);
      this.#logger.warn('The use of a volume cannot be measured: its limit is not enforced', {
        ...{ podUID: uid, volumeName: volume.name, err: error },
      });
      return false;
    }
  }
}
