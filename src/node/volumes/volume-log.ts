import { type PodRef } from '#kube/pod/pod-ref.js';
import { type Logger } from '#base/log/logger.js';

/** A pod, or the remains of one that nobody knows any more. */
type KnownPod = Pick<PodRef, 'uid'> & Partial<PodRef>;

/** What was logged about a pod. */
interface ToldVolumes {
  readonly pod: PodRef;
  /** Set-ups that have begun, and those that succeeded. */
  readonly begun: Set<string>;
  readonly setUp: Set<string>;
}

/**
 * Logs, in the kubelet's words, when a volume is there for the first time, and when all of a pod's are gone.
 */
export class VolumeLog {
  readonly #logger: Logger;
  /** By the uid of their pod. */
  readonly #told = new Map<string, ToldVolumes>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** All volumes of a pod are being checked, as in each sync. */
  waiting(pod: PodRef): void {
    this.#logger.info('Waiting for volumes to attach and mount for pod', fieldsOf(pod), 4);
  }

  /** All volumes of a pod are available. */
  ready(pod: PodRef): void {
    this.#logger.info('All volumes are attached and mounted for pod', fieldsOf(pod), 4);
  }

  /** A volume is being set up, as in each sync. */
  settingUp(pod: PodRef, volume: string): void {
    const { begun } = this.#toldOf(pod);
    if (begun.has(volume)) return;
    begun.add(volume);
    const message = `operationExecutor.MountVolume started for volume "${volume}"`;
    this.#logger.info(message, fieldsOf(pod), 2);
  }

  /** The volume was set up. */
  setUp(pod: PodRef, volume: string): void {
    const { setUp } = this.#toldOf(pod);
    if (setUp.has(volume)) return;
    setUp.add(volume);
    this.#logger.info(`MountVolume.SetUp succeeded for volume "${volume}"`, fieldsOf(pod), 2);
  }

  /** The pod's volumes are being removed; `names` are on disk. */
  tearingDown(given: KnownPod, names: readonly string[]): void {
    const fields = this.#fieldsOf(given);
    this.#logger.info('Waiting for volumes to unmount for pod', fields, 4);
    for (const volume of this.#namesOf(given, names)) {
      this.#logger.info(`operationExecutor.UnmountVolume started for volume "${volume}"`, fields, 2);
    }
  }

  /**
   * Nothing of the pod's volumes is left; `names` were found on disk.
   *
   * A pod known only by its uid is logged under that, and not at all if it had no volumes. For any
   * other pod even "no volumes" is logged, as that ends its trail.
   */
  tornDown(given: KnownPod, names: readonly string[]): void {
    const fields = this.#fieldsOf(given);
    const volumes = this.#namesOf(given, names);
    this.#told.delete(given.uid);
    if (volumes.size === 0 && findRef(given) === undefined) return;
    for (const volume of volumes) {
      this.#logger.info(`UnmountVolume.TearDown succeeded for volume "${volume}"`, fields, 2);
    }
    this.#logger.info('All volumes are unmounted for pod', fields, 2);
  }

  #toldOf(pod: PodRef): ToldVolumes {
    const known = this.#told.get(pod.uid);
    if (known !== undefined) return known;
    const told = { pod: namesOf(pod), begun: new Set<string>(), setUp: new Set<string>() };
    this.#told.set(pod.uid, told);
    return told;
  }

  #namesOf({ uid }: KnownPod, names: readonly string[]): ReadonlySet<string> {
    return new Set([...(this.#told.get(uid)?.setUp ?? []), ...names]);
  }

  #fieldsOf(given: KnownPod): { readonly pod?: PodRef; readonly podUID: string } {
    const pod = findRef(given) ?? this.#told.get(given.uid)?.pod;
    return { ...(pod === undefined ? {} : { pod }), podUID: given.uid };
  }
}

function findRef({ uid, namespace, name }: KnownPod): PodRef | undefined {
  return namespace === undefined || name === undefined ? undefined : { uid, namespace, name };
}

function fieldsOf(pod: PodRef): { readonly pod: PodRef; readonly podUID: string } {
  return { pod: namesOf(pod), podUID: pod.uid };
}

/** Drops the other fields of a pod's metadata. */
function namesOf({ uid, namespace, name }: PodRef): PodRef {
  return { uid, namespace, name };
}
