import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock } from '#base/time/clock.js';
import { diskAt, usedOf } from './disk-usages.js';
import { FolderSizes } from './folder-sizes.js';
import { type DiskUse } from './summary-shapes.js';

/** A volume of a pod and what is used of it. */
export interface VolumeUse {
  readonly name: string;
  /** The folder of its kind, such as `kubernetes.io~empty-dir`. */
  readonly plugin: string;
  readonly disk: DiskUse;
  /** It has a file system of its own, such as one in memory, and takes nothing of the node's disk. */
  readonly isApart: boolean;
}

/** What {@link VolumeUsages} needs. */
export interface VolumeUsagesOptions {
  readonly clock: Pick<Clock, 'now' | 'monotonicMs'>;
  /** The folder in which a pod's volumes are. */
  readonly volumesDir: (podUid: string) => string;
  /** How many bytes a folder takes; may take long. */
  readonly measureFolder: (path: string, signal: AbortSignal) => Promise<bigint>;
  /** Ends what is being measured. */
  readonly signal: AbortSignal;
}

/** What was measured is good for so long; counting files again and again would be most of what a node does. */
const GOOD_FOR_MS = 120_000;
/** Others' pods are shown, too, and their uids are theirs to choose: one that is no name of a folder has none here. */
const FOLDER_NAME = /^[A-Za-z0-9][-A-Za-z0-9_.]{0,250}$/;

/**
 * How much the volumes of pods use. Counting may take minutes: it goes on in the background, one volume after another,
 * while nobody waits for it; until a volume was measured once it is left out. When it cannot be measured again, what
 * was known stays, with its time.
 */
export class VolumeUsages {
  readonly #options: VolumeUsagesOptions;
  readonly #sizes: FolderSizes;

  constructor(options: VolumeUsagesOptions) {
    this.#options = options;
    const { clock, measureFolder, signal } = options;
    this.#sizes = new FolderSizes({ clock, measureFolder, signal, goodForMs: GOOD_FOR_MS });
  }

  /** The volumes of a pod, as they were measured last; asks for those that are due to be measured again. */
  async find(podUid: string): Promise<VolumeUse[]> {
    if (!FOLDER_NAME.test(podUid)) return [];
    const root = this.#options.volumesDir(podUid);
    const found: VolumeUse[] = [];
    for (const plugin of await readdir(root).catch(() => [])) {
      for (const name of await readdir(join(root, plugin)).catch(() => [])) {
        const path = join(root, plugin, name);
        const known = this.#sizes.find(path);
        if (known?.size === undefined) continue;
        const { atMs, size: usedBytes } = known;
        found.push({
          name,
          plugin,
          isApart: await isMount(path),
          disk: usedOf(await diskAt(path, atMs), { atMs, usedBytes, inodesUsed: undefined }),
        });
      }
    }
    return found;
  }

  /** Forgets the volumes of pods that are gone: those below none of the folders of these. */
  keepOnly(podUids: readonly string[]): void {
    const roots = new Set(podUids.map((uid) => this.#options.volumesDir(uid)));
    this.#sizes.keepOnly((path) => roots.has(join(path, '../..')));
  }

  /** Resolves when nothing is left to be measured. */
  async settled(): Promise<void> {
    await this.#sizes.settled();
  }
}

/** Whether something is mounted there; false when it is gone. */
async function isMount(path: string): Promise<boolean> {
  const [own, above] = await Promise.all([path, join(path, '..')].map(async (each) => lstat(each))).catch(
    () => [],
  );
  return own?.dev !== above?.dev;
}
