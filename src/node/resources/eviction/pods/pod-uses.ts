import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodUse, type PodUseNeeds } from '#kube/pod/pod-use.js';
import { type Volume } from '#kube/pod/volume.js';
import { type CriPodUsage, type PodCache } from '#watch';
import { FolderSizes, type FolderSizesOptions } from '../../stats/folder-sizes.js';
import { measurePodUses } from '../../stats/measure-pod-uses.js';
import { type PodFiles } from '../../stats/pod-files.js';
import { type NodeUsage } from '../../stats/node-usage.js';
import { UsageLooks } from '../../stats/usage-looks.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { settlesWithin } from '#base/async/settles-within.js';
import { sumIfKnown } from '#base/text/sum-if-known.js';
import { withinTime } from '#base/async/within-time.js';

/** What {@link PodUses} need. */
export interface PodUsesOptions {
  /** With a short timeout: a runtime under pressure is slow, and a node without memory is lost soon. */
  readonly usage: Pick<CriPodUsage, 'listPods'>;
  readonly cache: Pick<PodCache, 'getLastKnown'>;
  readonly readNode: (nowMs: number) => Promise<NodeUsage>;
  /** Counts the files of a pod outside of volumes, layers and logs. */
  readonly files: Pick<PodFiles, 'measure'>;
  /** Absolute. */
  readonly logsDir: string;
  /** Every desired pod; the volumes of others are forgotten. */
  readonly pods: () => Iterable<NodePod>;
  /** Where an emptyDir is on the node. */
  readonly folderOf: (pod: NodePod, volume: Volume) => string;
  readonly measureFolder: FolderSizesOptions['measureFolder'];
  /** Counts the files and folders in one. */
  readonly countInodes: FolderSizesOptions['measureFolder'];
  /** Ends work in the background. */
  readonly ending: AbortSignal;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Slightly shorter than the time between two checks of pods' usage. */
const COUNT_EVERY_MS = 9_000;
/** One volume with millions of files must not delay the results for others. */
const COUNTED_AT_ONCE = 4;
/** Volumes that are not counted by then have their previous count; counting continues. */
const COUNTING_LIMIT_MS = 8_000;
/** Two calls of the runtime of at most five seconds each, the counting, and a little for logs. */
const LIMIT_MS = 20_000;

/** The usage of pods, for evictions. */
export class PodUses {
  readonly #options: PodUsesOptions;
  readonly #looks: UsageLooks;
  readonly #sizes: Readonly<Record<'bytes' | 'inodes', FolderSizes>>;

  constructor(options: PodUsesOptions) {
    this.#options = options;
    const { usage, cache, readNode, measureFolder, countInodes, ending, clock, logger } = options;
    this.#looks = new UsageLooks({
      ...{ clock, logger, readNode },
      listPods: () => usage.listPods(ending),
      statusOf: (uid) => cache.getLastKnown(uid),
    });
    const common = { clock, signal: ending, goodForMs: COUNT_EVERY_MS, atOnce: COUNTED_AT_ONCE };
    this.#sizes = {
      bytes: new FolderSizes({ ...common, measureFolder }),
      inodes: new FolderSizes({ ...common, measureFolder: countInodes }),
    };
  }

  /**
   * The usage of these pods by uid; pods that the runtime does not report are left out.
   *
   * Rejects when the runtime does not answer, as no pod should go because nothing is known of any. Rejects
   * with the signal's reason when aborted.
   */
  async measure(
    pods: readonly NodePod[],
    needs: PodUseNeeds,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, PodUse>> {
    const { clock } = this.#options;
    return await withinTime({ clock, signal, limitMs: LIMIT_MS }, async (limited) =>
      this.#measure(pods, needs, limited),
    );
  }

  async #measure(
    pods: readonly NodePod[],
    needs: PodUseNeeds,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, PodUse>> {
    const { logsDir, files } = this.#options;
    const { pods: looked, problem } = await this.#looks.look(signal);
    if (problem !== undefined) throw new Error(`the runtime does not report what pods use: ${problem}`);
    const { volumes } = needs;
    if (volumes !== false) await this.#countVolumes(pods, this.#sizes[volumes]);
    const byUid = new Map(pods.map((pod) => [pod.metadata.uid, pod]));
    return await measurePodUses(
      {
        pods: looked.filter(({ uid }) => byUid.has(uid)),
        logsDir: needs.logs ? logsDir : undefined,
        filesOf: async (pod) => files.measure(pod),
        volumesOf: (uid) => {
          const pod = byUid.get(uid)!;
          if (volumes === false) return {};
          return volumes === 'bytes'
            ? { volumeBytes: this.#volumeBytesOf(pod) }
            : { volumeInodes: this.#volumeInodesOf(pod) };
        },
      },
      signal,
    );
  }

  async #countVolumes(pods: readonly NodePod[], sizes: FolderSizes): Promise<void> {
    const { clock, pods: wanted } = this.#options;
    const kept = new Set([...wanted()].flatMap((pod) => this.#foldersOf(pod)));
    sizes.keepOnly((path) => kept.has(path));
    // The first pass requests the counts, the second reads them.
    for (const pod of pods) for (const path of this.#foldersOf(pod)) sizes.find(path);
    await settlesWithin(sizes.settled(), COUNTING_LIMIT_MS, clock);
  }

  /** Undefined as long as one of them was never counted. */
  #volumeBytesOf(pod: NodePod): number | undefined {
    return sumIfKnown(this.#foldersOf(pod).map((path) => this.#sizes.bytes.find(path)?.size));
  }

  /**
   * Undefined until each was tried; not every du(1) can count inodes, and then only the other files count.
   */
  #volumeInodesOf(pod: NodePod): number | undefined {
    return sumIfKnown(
      this.#foldersOf(pod).map((path) => {
        const known = this.#sizes.inodes.find(path);
        return known && (known.size ?? 0);
      }),
    );
  }

  /** Ignores volumes in memory, which use no disk, and volumes that are not the pod's own. */
  #foldersOf(pod: NodePod): string[] {
    return (pod.spec.volumes ?? [])
      .filter(({ emptyDir }) => emptyDir !== undefined && emptyDir.medium !== 'Memory')
      .map((volume) => this.#options.folderOf(pod, volume));
  }
}
