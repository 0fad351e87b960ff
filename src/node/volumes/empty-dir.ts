import { chmod, chown, lstat, mkdir, realpath, rename } from 'node:fs/promises';
import { type NodePod } from '#kube/pod/node-pod.js';
import { findQuantity, toWholeUnits } from '#kube/fields/quantity.js';
import { type EmptyDirVolume } from '#kube/pod/volume.js';
import { computePodLimit } from '../runtime/config/quality-of-service.js';
import { type MountEntry } from '#base/proc/mountinfo.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { type Mounter } from './mounter.js';
import { type PodVolume, type VolumeKind } from './volume-kind.js';

/** Options of {@link EmptyDir}. */
export interface EmptyDirOptions {
  readonly mounter: Pick<Mounter, 'mountTmpfs'>;
  /** Reads the node's present mounts. */
  readonly readMounts: () => Promise<readonly MountEntry[]>;
  /** The memory that all pods of the node may use together. */
  readonly memoryBytes: bigint;
}

/** Like a kubelet's: any user of a container may write to its emptyDir. */
const DISK_MODE = 0o777;
/** The mode of any tmpfs, which a kubelet leaves as it is: everybody may write, and only owners remove. */
const MEMORY_MODE = 0o1777;
/** What members of `fsGroup` may do whatever the mode says; files created in the folder get its group. */
const GROUP_BITS = 0o2770;

/** A folder that lives as long as its pod, on disk or in memory. */
export class EmptyDir implements VolumeKind {
  readonly folderName = 'kubernetes.io~empty-dir';
  readonly #options: EmptyDirOptions;

  constructor(options: EmptyDirOptions) {
    this.#options = options;
  }

  /**
   * Creates the folder in its final state, as it belongs to the pod from then on.
   *
   * Databases give their folder a mode of their own and do not start with another. An agent that is killed in
   * between leaves nothing that seems ready.
   */
  async setUp(work: PodVolume, signal?: AbortSignal): Promise<void> {
    if (await this.isReady(work)) return;
    const { pod, volume, folder } = work;
    const gid = pod.spec.securityContext?.fsGroup;
    const bits = gid === undefined ? 0 : GROUP_BITS;
    if (volume.emptyDir?.medium === 'Memory') {
      await mkdir(folder, { mode: 0o750 }).catch(ignorePresence);
      const sizeBytes = computeMemorySize(pod, volume.emptyDir, this.#options.memoryBytes);
      const mount = { folder, sizeBytes, mode: (volume.emptyDir.mode ?? MEMORY_MODE) | bits, gid };
      await this.#options.mounter.mountTmpfs(mount, signal);
      return;
    }
    // Volume names have no dots.
    const fresh = `${folder}.new`;
    await mkdir(fresh, { mode: 0o750 }).catch(ignorePresence);
    if (gid !== undefined) await chown(fresh, process.geteuid!(), gid);
    // Not through mkdir, as the umask would remove bits; and last, as a change of the group does so, too.
    await chmod(fresh, (volume.emptyDir?.mode ?? DISK_MODE) | bits);
    await rename(fresh, folder);
  }

  async isReady({ volume, folder }: PodVolume): Promise<boolean> {
    const path = await lstat(folder).then(
      () => realpath(folder),
      (error: unknown) => {
        if (systemCodeOf(error) !== 'ENOENT') throw error;
        return undefined;
      },
    );
    if (path === undefined || volume.emptyDir?.medium !== 'Memory') return path !== undefined;
    return (await this.#options.readMounts()).some(({ mountPoint }) => mountPoint === path);
  }

  hostPathOf({ folder }: PodVolume): string {
    return folder;
  }
}

/**
 * The size of an emptyDir in memory, in bytes. Pure.
 *
 * It is its limit, but at most the pod's memory limit, or that of all pods together if the pod has none.
 */
export function computeMemorySize(
  { spec }: NodePod,
  { sizeLimit }: EmptyDirVolume,
  memoryBytes: bigint,
): bigint {
  const most = computePodLimit(spec, 'memory') ?? memoryBytes;
  const limit = sizeLimitOf(sizeLimit);
  return limit !== undefined && limit < most ? limit : most;
}

/** A limit in bytes; undefined for none, which 0 means as well. */
export function sizeLimitOf(sizeLimit: string | undefined): bigint | undefined {
  const quantity = sizeLimit === undefined ? undefined : findQuantity(sizeLimit);
  const bytes = quantity === undefined ? 0n : toWholeUnits(quantity);
  return bytes > 0n ? bytes : undefined;
}

function ignorePresence(error: unknown): void {
  if (systemCodeOf(error) !== 'EEXIST') throw error;
}
