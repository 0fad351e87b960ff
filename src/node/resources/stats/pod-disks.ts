/**
 * What pods have on disks, for pages that somebody waits for.
 *
 * In: running pods. Out: for each its volumes, files and logs, as of the last time that they could be measured. It
 * assumes that any file system may be slow or hang: pods are measured beside one another, one measurement a pod at a
 * time; a call waits a while for each and for all together, and one that is late ends in the background, for the next
 * call. So a pod with a volume that hangs has its last numbers, or none, and costs the others nothing but that while.
 *
 * @module
 */
import { abortable } from '#base/async/abortable.js';
import { forEachAtOnce } from '#base/async/for-each-at-once.js';
import { settlesWithin } from '#base/async/settles-within.js';
import { type Clock } from '#base/time/clock.js';
import { logUse } from './disk-usages.js';
import { type PodFilesUse } from './pod-files.js';
import { type DiskUse } from './summary-shapes.js';
import { type LookedPod } from './usage-looks.js';
import { type VolumeUse } from './volume-usages.js';

/** What one pod has on disks. */
export interface PodDiskUse {
  /** When it was measured, in milliseconds since the epoch. */
  readonly atMs: number;
  readonly volumes: readonly VolumeUse[];
  readonly files: PodFilesUse;
  /** By the id of the container. */
  readonly logs: ReadonlyMap<string, Pick<DiskUse, 'usedBytes' | 'inodesUsed'>>;
}

/** What {@link measurePodDisk} needs. */
export interface PodDiskPorts {
  /** The folder of pods' logs; absolute. */
  readonly logsDir: string;
  readonly volumesOf: (podUid: string) => Promise<readonly VolumeUse[]>;
  /** Counts the other files of a pod that its containers may write to. */
  readonly filesOf: (pod: LookedPod) => Promise<PodFilesUse>;
}

/** What {@link PodDisks} needs. */
export interface PodDisksOptions {
  readonly clock: Pick<Clock, 'now' | 'monotonicMs' | 'setTimer'>;
  readonly measure: (pod: LookedPod) => Promise<Omit<PodDiskUse, 'atMs'>>;
}

const MAX_AT_ONCE = 8;
/** How long a call waits for one pod, in milliseconds. */
const POD_LIMIT_MS = 2_000;
/** How long a call waits for all. */
const LIMIT_MS = 10_000;

/** See the module. */
export class PodDisks {
  readonly #options: PodDisksOptions;
  /** By uid. */
  readonly #known = new Map<string, PodDiskUse>();
  readonly #underWay = new Set<string>();

  constructor(options: PodDisksOptions) {
    this.#options = options;
  }

  /** By uid, those that were ever measured; forgets other pods. Rejects only with the signal's reason. */
  async measure(pods: readonly LookedPod[], signal: AbortSignal): Promise<ReadonlyMap<string, PodDiskUse>> {
    const { clock } = this.#options;
    const uids = new Set(pods.map(({ uid }) => uid));
    for (const uid of this.#known.keys()) if (!uids.has(uid)) this.#known.delete(uid);
    const untilMs = clock.monotonicMs() + LIMIT_MS;
    // The oldest numbers first, so that each pod has its turn where there is no time for all.
    const ageOf = ({ uid }: LookedPod): number => this.#known.get(uid)?.atMs ?? 0;
    const due = pods
      .filter(({ uid }) => !this.#underWay.has(uid))
      .sort((one, other) => ageOf(one) - ageOf(other));
    const measureOne = async (pod: LookedPod): Promise<void> => {
      const leftMs = untilMs - clock.monotonicMs();
      if (leftMs > 0) await settlesWithin(this.#measureOne(pod), Math.min(leftMs, POD_LIMIT_MS), clock);
    };
    await abortable(forEachAtOnce(due, MAX_AT_ONCE, measureOne, signal), signal);
    return new Map(this.#known);
  }

  async #measureOne(pod: LookedPod): Promise<void> {
    const { clock, measure } = this.#options;
    this.#underWay.add(pod.uid);
    const atMs = clock.now();
    try {
      this.#known.set(pod.uid, { atMs, ...(await measure(pod)) });
    } finally {
      this.#underWay.delete(pod.uid);
    }
  }
}

/** Measures one pod now, however long that takes. */
export async function measurePodDisk(
  pod: LookedPod,
  { logsDir, volumesOf, filesOf }: PodDiskPorts,
): Promise<Omit<PodDiskUse, 'atMs'>> {
  const volumes = await volumesOf(pod.uid);
  const files = await filesOf(pod);
  const logs = new Map<string, Pick<DiskUse, 'usedBytes' | 'inodesUsed'>>();
  for (const { id, status } of pod.containers) {
    const use = await logUse(status?.logPath ?? '', logsDir, undefined);
    if (use !== undefined) logs.set(id, use);
  }
  return { volumes, files, logs };
}
