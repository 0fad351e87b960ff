/**
 * The memory that classes of service leave to those above them (`qosReserved`): burstable pods together may not have what is reserved of the
 * requests of guaranteed ones, and pods without requests not what is reserved of both.
 *
 * In: pods with their groups, and what they request. Out: a limit of memory of the groups of the two lower classes, as they have pods.
 * Slices are set through systemd.
 *
 * Source: `--qos-reserved` of a kubelet.
 *
 * @module
 */
import { posix } from 'node:path';
import { Mutex } from '#base/async/mutex.js';
import { RecentKeys } from '#base/async/recent-keys.js';
import { messageOf } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { type PodQosClass } from '#kube/pod/v1-pod-status.js';
import { type GroupLimits } from './group-limits.js';
import { type ProtectedPod } from './memory-protection.js';

/** What {@link ClassReserve} needs. */
export interface ClassReserveOptions {
  /** How much of what pods request is reserved for them, from 0 to 100; 0 takes back what an earlier agent has set. */
  readonly percent: number;
  /** The memory of all pods together, in bytes. */
  readonly readAllocatable: () => Promise<bigint>;
  readonly limits: Pick<GroupLimits, 'setMemory' | 'memoryLimitOf' | 'throwIfBelowWorkingSet'>;
  /** Sets properties of a slice through systemd, to which it belongs. */
  readonly setSlice: (slice: string, properties: readonly string[], signal: AbortSignal) => Promise<void>;
  readonly logger: Logger;
}

const SLICE = '.slice';
/** How many problems are remembered, so that each is logged once. */
const MAX_LOGGED = 20;

/** See the module. */
export class ClassReserve {
  readonly #options: ClassReserveOptions;
  /** By the keys of their uids. */
  readonly #pods = new Map<string, ProtectedPod>();
  /** The limit that the group of each class has got, by its path. */
  readonly #settled = new Map<string, bigint | undefined>();
  readonly #logged = new RecentKeys({ maxKeys: MAX_LOGGED });
  readonly #turns = new Mutex();

  constructor(options: ClassReserveOptions) {
    this.#options = options;
  }

  /** A pod has a group, or requests something else. Takes effect with the next {@link settle}. */
  note(key: string, pod: ProtectedPod): void {
    this.#pods.set(key, pod);
  }

  /** The group of a pod was removed. */
  forget(key: string): void {
    this.#pods.delete(key);
  }

  /** Brings the groups of both classes up to date. Never rejects: what cannot be set is logged once, and tried again. */
  async settle(signal: AbortSignal): Promise<void> {
    await this.#turns.run(async () => {
      const pods = [...this.#pods.values()];
      const groups = new Map(
        pods.filter(({ qos }) => qos !== 'Guaranteed').map(({ path, qos }) => [posix.dirname(path), qos]),
      );
      // A group that went with its last pod comes back without a limit.
      for (const path of this.#settled.keys()) if (!groups.has(path)) this.#settled.delete(path);
      if (groups.size === 0) return;
      const { percent, readAllocatable } = this.#options;
      try {
        const limits = percent === 0 ? undefined : computeClassLimits(await readAllocatable(), pods, percent);
        for (const [path, qos] of groups) await this.#apply(path, limits?.get(qos), signal);
      } catch (error) {
        this.#log('all pods', error);
      }
    });
  }

  async #apply(path: string, memoryBytes: bigint | undefined, signal: AbortSignal): Promise<void> {
    const { limits, setSlice } = this.#options;
    if (this.#settled.has(path) && this.#settled.get(path) === memoryBytes) return;
    try {
      const old = limits.memoryLimitOf(path);
      if (old !== memoryBytes) {
        if (!path.endsWith(SLICE)) await limits.setMemory(path, memoryBytes);
        else {
          if (memoryBytes !== undefined) limits.throwIfBelowWorkingSet(path, memoryBytes);
          await setSlice(posix.basename(path), [`MemoryMax=${memoryBytes ?? 'infinity'}`], signal);
        }
      }
      this.#settled.set(path, memoryBytes);
    } catch (error) {
      this.#log(path, error);
    }
  }

  #log(cgroup: string, error: unknown): void {
    const err = messageOf(error);
    if (this.#logged.add(`${cgroup} ${err}`))
      this.#options.logger.warn('Memory of a class of service is not limited', { cgroup, err });
  }
}

/** What the two lower classes may have, each with all its pods together. Pure. */
export function computeClassLimits(
  allocatableBytes: bigint,
  pods: readonly Pick<ProtectedPod, 'qos' | 'requestBytes'>[],
  percent: number,
): ReadonlyMap<PodQosClass, bigint> {
  const reservedOf = (wanted: PodQosClass): bigint =>
    (pods.reduce((bytes, { qos, requestBytes }) => bytes + (qos === wanted ? requestBytes : 0n), 0n) *
      BigInt(percent)) /
    100n;
  const leave = (bytes: bigint): bigint => (bytes > 0n ? bytes : 0n);
  const burstable = leave(allocatableBytes - reservedOf('Guaranteed'));
  return new Map<PodQosClass, bigint>([
    ['Burstable', burstable],
    ['BestEffort', leave(burstable - reservedOf('Burstable'))],
  ]);
}
