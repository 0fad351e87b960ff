import { chmod, chown, lstat, mkdir, realpath, rename } from 'node:fs/promises';
import { type NodePod } from '#kube/pod/node-pod.js';
import { findQuantity, toWholeUnits } from '#kube/fields/quantity.js';
import { type EmptyDirVolume } from '#kube/pod/volume.js';
import { computePodLimit } from '../runtime/config/quality-of-service.js';
import { type MountEntry } from '#base/proc/mountinfo.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { type Mounter } from './mounter.js';
import { type PodVolume, type VolumeKind } from './volume-kind.js';

/** What an {@link EmptyDir} is made of. */
export interface EmptyDirOptions {
  readonly mounter: Pick<Mounter, 'mountTmpfs'>;
  /** The node's mounts as of now. */
  readonly readMounts: () => Promise<readonly MountEntry[]>;
  /** What all pods of the node may use together. */
  readonly memoryBytes: bigint;
}

/** As a kubelet: whatever user a container runs as may write to its emptyDir. */
const DISK_MODE = 0o777;
/** That of any tmpfs, which a kubelet leaves as it is: all may write, and only owners remove. */
const MEMORY_MODE = 0o1777;
/** What is made in it gets its group. */
const SETGID = 0o2000;

/** A folder that lives as long as its pod, on the disk or in memory. */
export class EmptyDir implements VolumeKind {
  readonly folderName = 'kubernetes.io~empty-dir';
  readonly #options: EmptyDirOptions;

  constructor(options: EmptyDirOptions) {
    this.#options = options;
  }

  /**
   * Once it is there it is the pod's: databases give their folder a mode of their own and do not start with another. So
   * it appears as it is to be, and whoever is killed in between leaves nothing that looks ready.
   */
  async setUp(work: PodVolume, signal?: AbortSignal): Promise<void> {
    if (await this.isReady(work)) return;
    const { pod, volume, folder } = work;
    const gid = pod.spec.securityContext?.fsGroup;
    const bits = gid === undefined ? 0 : SETGID;
    if (volume.emptyDir?.medium === 'Memory') {
      await mkdir(folder, { mode: 0o750 }).catch(ignorePresence);
      const sizeBytes = computeMemorySize(pod, volume.emptyDir, this.#options.memoryBytes);
      const mount = { folder, sizeBytes, mode: MEMORY_MODE | bits, gid };
      await this.#options.mounter.mountTmpfs(mount, signal);
      return;
    }
    // No volume has a dot in its name.
    const fresh = `${folder}.new`;
    await mkdir(fresh, { mode: 0o750 }).catch(ignorePresence);
    if (gid !== undefined) await chown(fresh, process.geteuid!(), gid);
    // Not through mkdir, as the process's mask would take bits away; and last, as a change of the group does so, too.
    await chmod(fresh, DISK_MODE | bits);
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
 * How much an emptyDir in memory holds, in bytes: its limit, and never more than the pod may use, or all pods together
 * where the pod has no limit. Pure.
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

/** A limit in bytes; undefined where there is none, which 0 means as well. */
export function sizeLimitOf(sizeLimit: string | undefined): bigint | undefined {
  const quantity = sizeLimit === undefined ? undefined : findQuantity(sizeLimit);
  const bytes = quantity === undefined ? 0n : toWholeUnits(quantity);
  return bytes > 0n ? bytes : undefined;
}

function ignorePresence(error: unknown): void {
  if (systemCodeOf(error) !== 'EEXIST') throw error;
}
