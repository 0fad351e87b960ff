import { sourceOf, type VolumeSource } from '../../volumes/volume-kind.js';
import { type CountedParts } from './count-pods.js';

/** What each volume is that a pod wants which is to run and has not ended: emptyDir, configMap … */
export function* listWantedVolumes({ desired, workers }: CountedParts): Iterable<VolumeSource> {
  for (const pod of desired.all()) {
    const { uid } = pod.metadata;
    if (desired.findRejection(uid) !== undefined || workers.isKnownTerminated(uid)) continue;
    for (const volume of pod.spec.volumes ?? []) yield sourceOf(volume);
  }
}
