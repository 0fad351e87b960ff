import { prepareHostPath } from './prepare-host-path.js';
import { type PodVolume, type VolumeKind } from './volume-kind.js';

/** A file or folder of the node: nothing of it is the pod's, and nothing of it is ever taken away. */
export class HostPath implements VolumeKind {
  readonly folderName = undefined;

  async setUp({ volume }: PodVolume): Promise<void> {
    await prepareHostPath(volume.hostPath!);
  }

  /** It may go at any time, and then no container may start with it. */
  isReady(): Promise<boolean> {
    return Promise.resolve(false);
  }

  hostPathOf({ volume }: PodVolume): string {
    return volume.hostPath!.path;
  }
}
