/**
 * Removes what the agent created for the volumes of a pod: mounts first, then files.
 *
 * In: the folder of a pod with nothing running. Out: unmounts and removals. It uses only the table of mounts
 * and the disk, so that it also cleans up after a killed agent, for pods that nobody remembers.
 *
 * A mount belongs to the agent if it is exactly where volumes and their subpaths are. Anything deeper was
 * mounted by somebody else, and nothing is removed above it. Copies of folders of the node are the exception:
 * they come with what is mounted below them, and all of that is unmounted in the copy alone.
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
import { removeTarget, unmountTree } from './sub-path/sub-path-mounts.js';
import { type VolumePaths } from './volume-paths.js';

/** Options of {@link VolumeRemover}. */
export interface VolumeRemoverOptions {
  /** Without links. */
  readonly paths: VolumePaths;
  readonly mounter: Pick<Mounter, 'bindDescriptor' | 'makeSlave' | 'unmount'>;
  /** Reads the node's present mounts. */
  readonly readMounts: () => Promise<readonly MountEntry[]>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}

/** Below the folder of subpaths, and that of host paths: <volume>/<container>/<index>. */
const TARGET_DEPTH = 3;
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
    const folders = paths.foldersOf(uid);
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
    for (const mount of mounts) if (this.#isCopy(mount, uid)) await this.#unmountCopy(mount);
    for (const mount of mounts)
      if (!isBelow(mount.mountPoint, paths.hostPathsFolder(uid))) await this.#unmount(mount);
    // Once more, as removing a mounted file system would be the worst outcome.
    const left = (await readMounts()).find(isInside);
    if (left !== undefined) throw inUse(left.mountPoint);
    for (const folder of [paths.subPathsFolder(uid), paths.hostPathsFolder(uid)]) await removeTargets(folder);
    await removeTree(paths.volumesFolder(uid));
    // Last: until then the pod has what it claimed.
    await removeTree(paths.claimsFolder(uid));
  }

  #isOurs({ mountPoint, fsType }: MountEntry, uid: string): boolean {
    const { paths } = this.#options;
    // Below volumes: <kind>/<volume>. Below the others: <volume>/<container>/<index>.
    return (
      (fsType === 'tmpfs' && depthBelow(paths.volumesFolder(uid), mountPoint) === 2) ||
      depthBelow(paths.subPathsFolder(uid), mountPoint) === TARGET_DEPTH ||
      depthBelow(paths.hostPathsFolder(uid), mountPoint) >= TARGET_DEPTH
    );
  }

  /** Whether it is a copy of a folder of the node itself. */
  #isCopy({ mountPoint }: MountEntry, uid: string): boolean {
    return depthBelow(this.#options.paths.hostPathsFolder(uid), mountPoint) === TARGET_DEPTH;
  }

  async #unmountCopy({ mountPoint }: MountEntry): Promise<void> {
    await unmountTree(mountPoint, this.#options, (mount) => this.#unmount(mount));
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

/** The number of names of a path below a folder; 0 if it is elsewhere. */
function depthBelow(folder: string, path: string): number {
  return isBelow(path, folder) ? path.slice(folder.length).split('/').length - 1 : 0;
}

function inUse(mountPoint: string, cause?: unknown): PodloopError {
  const why = cause === undefined ? '' : ` (${messageOf(cause)})`;
  const message = `${mountPoint} is still mounted${why}; its volume stays until it is unmounted`;
  return new PodloopError('VOLUME_IN_USE', message, { cause });
}

/**
 * Removes `<volume>/<container>/<index>`, each of them empty; anything else was not created here, and stays.
 */
async function removeTargets(folder: string, depth = TARGET_DEPTH): Promise<void> {
  if (depth === 0) {
    await removeTarget(folder);
    return;
  }
  const names = await readdir(folder).catch(ifMissing);
  if (names === undefined) return;
  for (const name of names) await removeTargets(join(folder, name), depth - 1);
  await rmdir(folder);
}

function ifMissing(error: unknown): undefined {
  if (systemCodeOf(error) !== 'ENOENT') throw error;
  return undefined;
}
