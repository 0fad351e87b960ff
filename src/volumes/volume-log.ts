import { type PodRef } from '../model/pod-ref.js';
import { type Logger } from '../util/logger.js';

/** Tells in the log, in the kubelet's words, when a volume is there for the first time, and when all of a pod's are gone. */
export class VolumeLog {
  readonly #logger: Logger;
  /** Names of volumes by the uid of their pod. */
  readonly #setUp = new Map<string, Set<string>>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** A volume was set up; each sync does that anew. */
  setUp({ uid, namespace, name }: PodRef, volume: string): void {
    const volumes = this.#setUp.get(uid) ?? new Set();
    if (volumes.has(volume)) return;
    this.#setUp.set(uid, volumes.add(volume));
    const fields = { pod: { uid, namespace, name }, podUID: uid };
    this.#logger.info(`MountVolume.SetUp succeeded for volume "${volume}"`, fields, 2);
  }

  /** Nothing of the pod's volumes is left; `names` were found on the disk. Says nothing when there was nothing. */
  tornDown(pod: { readonly uid: string }, names: readonly string[]): void {
    const known = this.#setUp.get(pod.uid) ?? [];
    this.#setUp.delete(pod.uid);
    const volumes = new Set([...known, ...names]);
    if (volumes.size === 0) return;
    const fields = { pod, podUID: pod.uid };
    for (const volume of volumes) {
      this.#logger.info(`UnmountVolume.TearDown succeeded for volume "${volume}"`, fields, 2);
    }
    this.#logger.info('All volumes are unmounted for pod', fields, 2);
  }
}
