import { type PodRef } from '../model/pod-ref.js';
import { type Logger } from '../util/logger.js';

/** A pod, or what is left of one that nobody knows any more. */
type KnownPod = Pick<PodRef, 'uid'> & Partial<PodRef>;

/** What of a pod was told to be there. */
interface SetUpVolumes {
  readonly pod: PodRef;
  readonly names: Set<string>;
}

/** Tells in the log, in the kubelet's words, when a volume is there for the first time, and when all of a pod's are gone. */
export class VolumeLog {
  readonly #logger: Logger;
  /** By the uid of their pod. */
  readonly #setUp = new Map<string, SetUpVolumes>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** A volume was set up; each sync does that anew. */
  setUp({ uid, namespace, name }: PodRef, volume: string): void {
    const pod = { uid, namespace, name };
    const known = this.#setUp.get(uid) ?? { pod, names: new Set() };
    if (known.names.has(volume)) return;
    known.names.add(volume);
    this.#setUp.set(uid, known);
    this.#logger.info(`MountVolume.SetUp succeeded for volume "${volume}"`, { pod, podUID: uid }, 2);
  }

  /**
   * Nothing of the pod's volumes is left; `names` were found on the disk. Says nothing when there was nothing. A pod of
   * which only the uid is known has no other name in the log either.
   */
  tornDown(given: KnownPod, names: readonly string[]): void {
    const known = this.#setUp.get(given.uid);
    this.#setUp.delete(given.uid);
    const volumes = new Set([...(known?.names ?? []), ...names]);
    if (volumes.size === 0) return;
    const pod = findRef(given) ?? known?.pod;
    const fields = { ...(pod === undefined ? {} : { pod }), podUID: given.uid };
    for (const volume of volumes) {
      this.#logger.info(`UnmountVolume.TearDown succeeded for volume "${volume}"`, fields, 2);
    }
    this.#logger.info('All volumes are unmounted for pod', fields, 2);
  }
}

function findRef({ uid, namespace, name }: KnownPod): PodRef | undefined {
  return namespace === undefined || name === undefined ? undefined : { uid, namespace, name };
}
