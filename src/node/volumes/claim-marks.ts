import { makeFolder } from '#base/fs/make-folder.js';
import { namesIn } from '#base/fs/names-in.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { readIfThere, writeWhole } from '#base/fs/whole-file.js';
import { type PodVolume } from './volume-kind.js';
import { VolumePaths } from './volume-paths.js';

/** As a kubelet's. */
const FOLDER_MODE = 0o750;

/**
 * Records which folders of the node pods have as volumes: a file per volume with the folder's path.
 *
 * A mark exists from when the folder is ready for the pod until the pod's volumes are torn down. {@link
 * VolumeRemover} removes it. Marks are on disk, so that a later agent does not undo what a pod has changed in
 * its volume. Paths have no links.
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

  /** Writes the mark so that it survives a power failure. */
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
        // Volume names have no dots: such a file is an unfinished mark.
        if (!volume.includes('.') && (await this.#find(uid, volume)) === path) return true;
      }
    }
    return false;
  }

  /** A mark is written as a whole: all of it exists or nothing. */
  async #find(uid: string, volume: string): Promise<string | undefined> {
    return readIfThere(this.#paths.claim(uid, volume));
  }
}

/** Some file among the folders of pods. */
function ifNoPod(error: unknown): string[] {
  if (systemCodeOf(error) !== 'ENOTDIR') throw error;
  return [];
}
