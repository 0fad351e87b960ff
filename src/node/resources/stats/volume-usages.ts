import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock } from '#base/time/clock.js';
import { diskAt, usedOf } from './disk-usages.js';
import { FolderSizes } from './folder-sizes.js';
import { type DiskUse } from './summary-shapes.js';

/** Identifies a claim. */
export interface ClaimRef {
  readonly namespace: string;
  readonly name: string;
}

/** A volume of a pod and its usage. */
export interface VolumeUse {
  readonly name: string;
  /** The folder of its kind, such as `kubernetes.io~empty-dir`. */
  readonly plugin: string;
  readonly disk: DiskUse;
  /** Whose it is, if a pod has claimed it. */
  readonly claim?: ClaimRef | undefined;
  /** It has a file system of its own, such as one in memory, and uses nothing of the node's disk. */
  readonly isApart: boolean;
}

/** What {@link VolumeUsages} needs. */
export interface VolumeUsagesOptions {
  readonly clock: Pick<Clock, 'now' | 'monotonicMs'>;
  /** The folder of a pod's volumes. */
  readonly volumesDir: (podUid: string) => string;
  /** Measures a folder in bytes; may take long. */
  readonly measureFolder: (path: string, signal: AbortSignal) => Promise<bigint>;
  /** Counts the files and folders in it; may take long. */
  readonly countInodes: (path: string, signal: AbortSignal) => Promise<bigint>;
  /** The least time from one measurement to the next; not above 0: nothing is measured (default: two minutes). */
  readonly periodMs?: number;
  /** Aborts measurements under way. */
  readonly signal: AbortSignal;
}

/** How long a result stays valid; otherwise counting files would be most of a node's work. */
const GOOD_FOR_MS = 120_000;
/**
 * Foreign pods are shown, too, and others choose their uids: one that is no folder name has no folder here.
 */
const FOLDER_NAME = /^[A-Za-z0-9][-A-Za-z0-9_.]{0,250}$/;

/**
 * The usage of pods' volumes, measured in the background one after another, as counting may take minutes.
 *
 * A volume is left out until it was measured once. If a new measurement fails, the old value stays, with its
 * time.
 */
export class VolumeUsages {
  readonly #options: VolumeUsagesOptions;
  readonly #sizes: FolderSizes;
  readonly #inodes: FolderSizes;

  constructor(options: VolumeUsagesOptions) {
    this.#options = options;
    const { clock, measureFolder, countInodes, periodMs = GOOD_FOR_MS, signal } = options;
    const common = { clock, signal, goodForMs: Math.max(GOOD_FOR_MS, periodMs) };
    this.#sizes = new FolderSizes({ ...common, measureFolder });
    this.#inodes = new FolderSizes({ ...common, measureFolder: countInodes });
  }

  /** The volumes of a pod with their last usage; requests due measurements. */
  async find(podUid: string): Promise<VolumeUse[]> {
    const { periodMs = GOOD_FOR_MS } = this.#options;
    if (periodMs <= 0 || !FOLDER_NAME.test(podUid)) return [];
    const root = this.#options.volumesDir(podUid);
    const found: VolumeUse[] = [];
    for (const plugin of await readdir(root).catch(() => [])) {
      for (const name of await readdir(join(root, plugin)).catch(() => [])) {
        const path = join(root, plugin, name);
        const known = this.#sizes.find(path);
        const inodesUsed = this.#inodes.find(path)?.size;
        if (known?.size === undefined) continue;
        const { atMs, size: usedBytes } = known;
        found.push({
          name,
          plugin,
          isApart: await isMount(path),
          disk: usedOf(await diskAt(path, atMs), { atMs, usedBytes, inodesUsed }),
        });
      }
    }
    return found;
  }

  /** Forgets the volumes of pods that are gone: those outside of these pods' folders. */
  keepOnly(podUids: readonly string[]): void {
    const roots = new Set(podUids.map((uid) => this.#options.volumesDir(uid)));
    for (const known of [this.#sizes, this.#inodes]) known.keepOnly((path) => roots.has(join(path, '../..')));
  }

  /** Resolves when nothing is left to measure. */
  async settled(): Promise<void> {
    await Promise.all([this.#sizes.settled(), this.#inodes.settled()]);
  }
}

/** Whether something is mounted there; false when it is gone. */
async function isMount(path: string): Promise<boolean> {
  const [own, above] = await Promise.all([path, join(path, '..')].map(async (each) => lstat(each))).catch(
    () => [],
  );
  return own?.dev !== above?.dev;
}
