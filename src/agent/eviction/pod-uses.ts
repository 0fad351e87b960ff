import { type PodUse } from '../../model/pod-use.js';
import { type PodCache } from '../../pleg/pod-cache.js';
import { type CriPodUsage } from '../../runtime/cri-pod-usage.js';
import { type PodPaths } from '../../runtime/pod-paths.js';
import { measurePodUses } from '../../stats/measure-pod-uses.js';
import { readNodeUsage } from '../../stats/node-usage.js';
import { UsageLooks } from '../../stats/usage-looks.js';
import { VolumeUsages } from '../../stats/volume-usages.js';
import { type Clock } from '../../util/clock.js';
import { type Logger } from '../../util/logger.js';
import { settlesWithin } from '../../util/settles-within.js';
import { measureFolder } from '../../volumes/measure-folder.js';
import { VolumePaths } from '../../volumes/volume-paths.js';

/** What {@link PodUses} need. */
export interface PodUsesOptions {
  /** A runtime under pressure is slow, and a node without memory is lost soon: with a short limit. */
  readonly usage: Pick<CriPodUsage, 'listPods'>;
  readonly cache: Pick<PodCache, 'get'>;
  readonly paths: PodPaths;
  /** Ends what goes on in the background. */
  readonly ending: AbortSignal;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A little less than the time between two looks at whether a pod uses too much. */
const COUNT_EVERY_MS = 9_000;
/** Volumes that are not counted by then count for nothing this time. */
const COUNTING_LIMIT_MS = 10_000;

/** What pods use, for those who end them for it. */
export class PodUses {
  readonly #options: PodUsesOptions;
  readonly #looks: UsageLooks;
  readonly #volumes: VolumeUsages;

  constructor(options: PodUsesOptions) {
    this.#options = options;
    const { usage, cache, paths, ending, clock, logger } = options;
    const volumePaths = new VolumePaths(paths.podsDir);
    this.#looks = new UsageLooks({
      ...{ clock, logger, readNode: readNodeUsage },
      listPods: () => usage.listPods(ending),
      statusOf: (uid) => cache.get(uid).status,
    });
    this.#volumes = new VolumeUsages({
      ...{ clock, measureFolder, signal: ending, goodForMs: COUNT_EVERY_MS },
      volumesDir: (uid) => volumePaths.volumesFolder(uid),
    });
  }

  /**
   * By uid; of all pods unless told of which. Nothing of a pod is known when the runtime does not answer. Rejects with the
   * signal's reason alone.
   */
  async measure(signal: AbortSignal, podUids?: ReadonlySet<string>): Promise<ReadonlyMap<string, PodUse>> {
    const { clock, paths } = this.#options;
    const volumes = this.#volumes;
    const look = await this.#looks.look(signal);
    if (look.problem === undefined) volumes.keepOnly(look.pods.map(({ uid }) => uid));
    // Asked for once so that they are counted, and then as they were counted.
    const pods = look.pods.filter(({ uid }) => podUids?.has(uid) !== false);
    for (const { uid } of pods) await volumes.find(uid);
    await settlesWithin(volumes.settled(), COUNTING_LIMIT_MS, clock);
    const scene = { pods, logsDir: paths.podLogsDir, volumesOf: async (uid: string) => volumes.find(uid) };
    return await measurePodUses(scene, signal);
  }
}
