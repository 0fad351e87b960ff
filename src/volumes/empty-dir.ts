import { chmod, lstat, mkdir, rename } from 'node:fs/promises';
import { type PodVolume, type VolumeKind } from './volume-kind.js';

/** As a kubelet: whatever user a container runs as may write to its emptyDir. */
const EMPTY_DIR_MODE = 0o777;

/** A folder that lives as long as its pod. */
export class EmptyDir implements VolumeKind {
  readonly folderName = 'kubernetes.io~empty-dir';

  /**
   * Once it is there it is the pod's: databases give their folder a mode of their own and do not start with another. So
   * it appears as it is to be, and whoever is killed in between leaves nothing that looks ready.
   */
  async setUp({ folder }: PodVolume): Promise<void> {
    if (await isThere(folder)) return;
    // No volume has a dot in its name.
    const fresh = `${folder}.new`;
    await mkdir(fresh, { recursive: true, mode: 0o750 });
    // Not through mkdir: the process's mask would take bits away.
    await chmod(fresh, EMPTY_DIR_MODE);
    await rename(fresh, folder);
  }

  async isReady({ folder }: PodVolume): Promise<boolean> {
    return isThere(folder);
  }

  hostPathOf({ folder }: PodVolume): string {
    return folder;
  }
}

async function isThere(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}
