import { sourceOf, type VolumeSource } from '../../volumes/volume-kind.js';
import { type CountedParts } from './count-pods.js';

/** The kind of each volume of pods that are wanted and have not ended: emptyDir, configMap … */
export function* listWantedVolumes({ desired, workers }: CountedParts): Iterable<VolumeSource> {
  for (const pod of desired.all()) {
    const { uid } = pod.metadata;
    if (desired.findRejection(uid) !== undefined || workers.isKnownTerminated(uid)) continue;
    for (const volume of pod.spec.volumes ?? []) yield sourceOf(volume);
  }
}
