import { makeFolder } from '#base/fs/make-folder.js';
import { namesIn } from '#base/fs/names-in.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { readIfThere, writeWhole } from '#base/fs/whole-file.js';
import { type PodVolume } from './volume-kind.js';
import { VolumePaths } from './volume-paths.js';

/** As a kubelet's. */
const FOLDER_MODE = 0o750;

/**
 * Which folders of the node pods have, as their volumes: a file for each volume, with the path of the folder in it, from
 * when the folder is as the pod is to have it until the pod's volumes are torn down. {@link VolumeRemover} takes them away.
 *
 * On the disk, since it holds over agents: what a pod makes of the files of its volume is not to be undone by the next
 * one. Paths are without links.
 */
export class ClaimMarks {
  readonly #paths: VolumePaths;

  constructor(podsFolder: string) {
    this.#paths = new VolumePaths(podsFolder);
  }

  /** Whether the volume is marked to be that folder. */
  async has({ pod, volume }: PodVolume, path: string): Promise<boolean> {
    return (await this.#find(pod.metadata.uid, volume.name)) === path;
  }

  /** Marks it, also for after a loss of power. */
  async write({ pod, volume }: PodVolume, path: string): Promise<void> {
    const { uid } = pod.metadata;
    await makeFolder(this.#paths.claimsFolder(uid), FOLDER_MODE);
    await writeWhole(this.#paths.claim(uid, volume.name), path);
  }

  /** Whether a volume of any other pod is marked to be that folder. */
  async isUsedByOther(podUid: string, path: string): Promise<boolean> {
    for (const uid of await namesIn(this.#paths.podsFolder)) {
      if (uid === podUid) continue;
      for (const volume of await namesIn(this.#paths.claimsFolder(uid)).catch(ifNoPod)) {
        // No volume has a dot in its name: such a file is a mark that was never finished.
        if (!volume.includes('.') && (await this.#find(uid, volume)) === path) return true;
      }
    }
    return false;
  }

  /** It is written whole, so that there is all of it or nothing. */
  async #find(uid: string, volume: string): Promise<string | undefined> {
    return readIfThere(this.#paths.claim(uid, volume));
  }
}

/** Some file that lies among the folders of pods. */
function ifNoPod(error: unknown): string[] {
  if (systemCodeOf(error) !== 'ENOTDIR') throw error;
  return [];
}
