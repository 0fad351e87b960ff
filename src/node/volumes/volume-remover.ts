/**
 * Removes what the agent created for the volumes of a pod: mounts first, then files.
 *
 * In: the folder of a pod with nothing running. Out: unmounts and removals. It uses only the table of mounts
 * and the disk, so that it also cleans up after a killed agent, for pods that nobody remembers.
 *
 * A mount belongs to the agent if it is exactly where volumes and their subpaths are. Anything deeper was
 * mounted by somebody else, and nothing is removed above it.
 *
 * @module
 */
import { readdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock } from '#base/time/clock.js';
import { messageOf, PodloopError } from '#base/errors/errors.js';
import { isBelow, type MountEntry } from '#base/proc/mountinfo.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { type Mounter } from './mounter.js';
import { removeTree } from '#base/fs/remove-tree.js';
import { removeTarget } from './sub-path/sub-path-mounts.js';
import { type VolumePaths } from './volume-paths.js';

/** Options of {@link VolumeRemover}. */
export interface VolumeRemoverOptions {
  /** Without links. */
  readonly paths: VolumePaths;
  readonly mounter: Pick<Mounter, 'unmount'>;
  /** Reads the node's present mounts. */
  readonly readMounts: () => Promise<readonly MountEntry[]>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}

/** How long a mount in use keeps its volume, before it is removed anyway. */
const PATIENCE_MS = 60_000;

/** See the module. Every method is idempotent. */
export class VolumeRemover {
  readonly #options: VolumeRemoverOptions;
  /** Since when mounts of the agent cannot be unmounted, by path; in monotonic milliseconds. */
  readonly #stuckSince = new Map<string, number>();

  constructor(options: VolumeRemoverOptions) {
    this.#options = options;
  }

  /**
   * Rejects with VOLUME_IN_USE while something is mounted that cannot be unmounted; the volumes stay then.
   */
  async remove(uid: string): Promise<void> {
    const { paths, readMounts } = this.#options;
    const folders = [paths.subPathsFolder(uid), paths.volumesFolder(uid), paths.claimsFolder(uid)];
    const isInside = ({ mountPoint }: MountEntry): boolean =>
      folders.some((folder) => isBelow(mountPoint, folder));
    // Later mounts are on top of or inside earlier ones.
    const mounts = (await readMounts()).filter(isInside).reverse();
    // A mount that somebody else has removed meanwhile gets its full time again if it comes back.
    for (const path of this.#stuckSince.keys()) {
      const isOfPod = folders.some((folder) => isBelow(path, folder));
      if (isOfPod && !mounts.some(({ mountPoint }) => mountPoint === path)) this.#stuckSince.delete(path);
    }
    const foreign = mounts.find((mount) => !this.#isOurs(mount, uid));
    if (foreign !== undefined) throw inUse(foreign.mountPoint);
    for (const mount of mounts) await this.#unmount(mount);
    // Once more, as removing a mounted file system would be the worst outcome.
    const left = (await readMounts()).find(isInside);
    if (left !== undefined) throw inUse(left.mountPoint);
    await removeSubPaths(paths.subPathsFolder(uid));
    await removeTree(paths.volumesFolder(uid));
    // Last: until then the pod has what it claimed.
    await removeTree(paths.claimsFolder(uid));
  }

  #isOurs({ mountPoint, fsType }: MountEntry, uid: string): boolean {
    const { paths } = this.#options;
    const partOf = (folder: string): number =>
      isBelow(mountPoint, folder) ? mountPoint.slice(folder.length).split('/').length - 1 : 0;
    // Below volumes: <kind>/<volume>. Below volume-subpaths: <volume>/<container>/<index>.
    return (
      (fsType === 'tmpfs' && partOf(paths.volumesFolder(uid)) === 2) ||
      partOf(paths.subPathsFolder(uid)) === 3
    );
  }

  async #unmount({ mountPoint: path, fsType }: MountEntry): Promise<void> {
    const { mounter, clock } = this.#options;
    const nowMs = clock.monotonicMs();
    const sinceMs = this.#stuckSince.get(path);
    const lazily = sinceMs !== undefined && nowMs - sinceMs >= PATIENCE_MS;
    try {
      await mounter.unmount(path, { lazily, isTmpfs: fsType === 'tmpfs' });
      this.#stuckSince.delete(path);
    } catch (error) {
      if (sinceMs === undefined) this.#stuckSince.set(path, nowMs);
      throw inUse(path, error);
    }
  }
}

function inUse(mountPoint: string, cause?: unknown): PodloopError {
  const why = cause === undefined ? '' : ` (${messageOf(cause)})`;
  const message = `${mountPoint} is still mounted${why}; its volume is kept until it is not`;
  return new PodloopError('VOLUME_IN_USE', message, { cause });
}

/**
 * Removes `<volume>/<container>/<index>`, each of them empty; anything else was not created here, and stays.
 */
async function removeSubPaths(folder: string, depth = 3): Promise<void> {
  if (depth === 0) {
    await removeTarget(folder);
    return;
  }
  const names = await readdir(folder).catch(ifMissing);
  if (names === undefined) return;
  for (const name of names) await removeSubPaths(join(folder, name), depth - 1);
  await rmdir(folder);
}

function ifMissing(error: unknown): undefined {
  if (systemCodeOf(error) !== 'ENOENT') throw error;
  return undefined;
}
