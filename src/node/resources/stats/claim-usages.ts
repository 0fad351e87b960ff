/**
 * How much the volumes that pods have claimed use, measured in the background once per period.
 *
 * In: claimed volumes with their folders. Out: the size of each, as of its last measurement. As with a kubelet,
 * the numbers of a `local` volume are those of its file system, and a `hostPath` volume has none. A volume that
 * this node has made is a folder among others on a disk: what it uses is counted file by file, and its capacity
 * is that of the disk.
 *
 * A file server that is gone delays only its own volumes, and one with many files at most three others. A volume
 * that cannot be measured keeps its last numbers.
 *
 * Source: https://kubernetes.io/docs/reference/instrumentation/metrics/ (kubelet_volume_stats_*)
 *
 * @module
 */
import { forEachAtOnce } from '#base/async/for-each-at-once.js';
import { type Clock } from '#base/time/clock.js';
import { diskAt, usedOf } from './disk-usages.js';
import { type DiskUse } from './summary-shapes.js';
import { type ClaimRef, type VolumeUse } from './volume-usages.js';

/** A claimed volume, as far as it is measured. */
export interface Claimed {
  readonly podUid: string;
  readonly volume: string;
  readonly claim: ClaimRef;
  readonly place: { readonly kind: 'local' | 'hostPath'; readonly path: string };
}

/** A claimed volume with its usage. */
export type ClaimUse = VolumeUse & Pick<Claimed, 'claim'>;

/** What {@link ClaimUsages} needs. */
export interface ClaimUsagesOptions {
  /** What pods have: volumes that this node has made, and those that a cluster has. */
  readonly claimed: () => { readonly ofNode: readonly Claimed[]; readonly ofCluster: readonly Claimed[] };
  /** Accesses a path that may never answer; rejects then. */
  readonly looks: { run<T>(path: string, look: () => Promise<T>): Promise<T> };
  /** Measures a folder in bytes; may take long. */
  readonly measureFolder: (path: string, signal: AbortSignal) => Promise<bigint>;
  /** Counts the files and folders in it; may take long. */
  readonly countInodes: (path: string, signal: AbortSignal) => Promise<bigint>;
  /** From one measurement to the next, in milliseconds; nothing is measured unless it is positive. */
  readonly periodMs: number;
  readonly clock: Pick<Clock, 'now' | 'sleep'>;
}

const MAX_AT_ONCE = 4;
/** The kubelet's plugin for volumes of this kind. */
const PLUGIN = 'kubernetes.io~local-volume';

/** See the module. */
export class ClaimUsages {
  readonly #options: ClaimUsagesOptions;
  /** By folder. */
  readonly #known = new Map<string, DiskUse>();

  constructor(options: ClaimUsagesOptions) {
    this.#options = options;
  }

  /** Measures until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, periodMs } = this.#options;
    if (periodMs <= 0) return;
    while (!signal.aborted) {
      await this.measure(signal).catch(() => undefined);
      await clock.sleep(periodMs, signal).catch(() => undefined);
    }
  }

  /** Measures each volume once. Rejects only with the signal's reason. */
  async measure(signal: AbortSignal): Promise<void> {
    const { claimed } = this.#options;
    const { ofNode, ofCluster } = claimed();
    const counted = new Set(ofNode.map(({ place }) => place.path));
    const folders = new Set([...ofCluster, ...ofNode].filter(hasUsage).map(({ place }) => place.path));
    for (const path of this.#known.keys()) if (!folders.has(path)) this.#known.delete(path);
    const measureOne = async (path: string): Promise<void> => {
      const use = await this.#measure(path, counted.has(path), signal).catch(() => undefined);
      if (use !== undefined) this.#known.set(path, use);
    };
    await forEachAtOnce(folders, MAX_AT_ONCE, measureOne, signal);
  }

  /** Those of one pod that have been measured. */
  ofPod(podUid: string): ClaimUse[] {
    return this.#list().filter((use) => use.podUid === podUid);
  }

  /** One of each claim, whichever pods have it. */
  all(): ClaimUse[] {
    return [
      ...new Map(this.#list().map((use) => [`${use.claim.namespace}/${use.claim.name}`, use])).values(),
    ];
  }

  #list(): (ClaimUse & Pick<Claimed, 'podUid'>)[] {
    const { ofNode, ofCluster } = this.#options.claimed();
    return [...ofNode, ...ofCluster].flatMap(({ podUid, volume, claim, place }) => {
      const disk = this.#known.get(place.path);
      return disk === undefined ? [] : [{ podUid, name: volume, plugin: PLUGIN, claim, disk, isApart: true }];
    });
  }

  async #measure(path: string, isCounted: boolean, signal: AbortSignal): Promise<DiskUse | undefined> {
    const { looks, measureFolder, countInodes, clock } = this.#options;
    const disk = await looks.run(path, async () => diskAt(path, clock.now()));
    if (disk === undefined || !isCounted) return disk;
    // One walk of the folder after the other. Not every du(1) counts files.
    const usedBytes = Number(await measureFolder(path, signal));
    const inodesUsed = await countInodes(path, signal).then(Number, () => undefined);
    return usedOf(disk, { usedBytes, inodesUsed });
  }
}

function hasUsage({ place }: Claimed): boolean {
  return place.kind === 'local';
}
