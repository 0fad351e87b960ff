/**
 * The memory that the kernel keeps for pods, on cgroup v2: what guaranteed pods request in any case, and what burstable ones request as far
 * as it can.
 *
 * In: pods with their groups, and what they request. Out: `memory.min` and `memory.low` of these groups and of those above them, since
 * the kernel keeps no more for a group than for the one it is in. Slices are set through systemd.
 *
 * Source: KEP-2570, and https://docs.kernel.org/admin-guide/cgroup-v2.html#memory-interface-files
 *
 * @module
 */
import { posix } from 'node:path';
import { Mutex } from '#base/async/mutex.js';
import { RecentKeys } from '#base/async/recent-keys.js';
import { messageOf } from '#base/errors/errors.js';
import { findCgroupMounts, findUnifiedAlone } from '#base/proc/cgroups/cgroup-mounts.js';
import { type Logger } from '#base/log/logger.js';
import { type PodQosClass } from '#kube/pod/v1-pod-status.js';
import { type AgentOptions } from '../../options/agent-options.js';
import { type MemoryQos } from '../../runtime/config/memory-qos.js';
import { type GroupLimits, type Protection } from './group-limits.js';

/** A pod and what it requests. */
export interface ProtectedPod {
  /** Of its group. */
  readonly path: string;
  readonly qos: PodQosClass;
  readonly requestBytes: bigint;
}

/** The groups above pods. */
export interface GroupsAbove {
  /** The group of all pods. */
  readonly all: string;
  /** Those above it that nobody else has, from the top downwards. */
  readonly above: readonly string[];
}

/** What {@link MemoryProtection} needs. */
export interface MemoryProtectionOptions {
  /** Whether memory is kept at all; otherwise what an earlier agent has set for all pods is taken back. */
  readonly isReserved: boolean;
  readonly limits: Pick<GroupLimits, 'protect' | 'protectionOf'>;
  /** Sets properties of a slice through systemd, to which it belongs; without properties takes them back. */
  readonly setSlice: (slice: string, properties: readonly string[], signal: AbortSignal) => Promise<void>;
  readonly logger: Logger;
}

const SLICE = '.slice';
const NOTHING: Protection = { minBytes: 0n, lowBytes: 0n };
/** How many problems are remembered, so that each is logged once. */
const MAX_LOGGED = 20;

/** See the module. */
export class MemoryProtection {
  readonly #options: MemoryProtectionOptions;
  /** By the keys of their uids. */
  readonly #pods = new Map<string, ProtectedPod>();
  /** What each group has got, by its path. */
  readonly #settled = new Map<string, string>();
  readonly #logged = new RecentKeys({ maxKeys: MAX_LOGGED });
  #isTakenBack = false;
  readonly #turns = new Mutex();
  /** Whether somebody waits for a turn, which will see what all others have noted until then. */
  #isWaiting = false;

  constructor(options: MemoryProtectionOptions) {
    this.#options = options;
  }

  /** What is kept for all pods together: of guaranteed ones in any case, of burstable ones as far as possible. */
  get total(): Protection {
    return sumOf([...this.#pods.values()]);
  }

  /** A pod has a group, or requests something else. Takes effect with the next {@link settle}. */
  note(key: string, pod: ProtectedPod): void {
    if (this.#options.isReserved) this.#pods.set(key, pod);
  }

  /** The group of a pod was removed. */
  async forget(key: string, signal: AbortSignal): Promise<void> {
    const pod = this.#pods.get(key);
    if (pod === undefined) return;
    this.#pods.delete(key);
    const wasSet = this.#settled.delete(pod.path);
    if (!wasSet || !pod.path.endsWith(SLICE)) return;
    await this.#options.setSlice(posix.basename(pod.path), [], signal).catch((error: unknown) => {
      this.#log('Memory of a slice stays reserved until the next boot', pod.path, error);
    });
  }

  /**
   * Brings all groups up to date, the topmost first. Never rejects: what cannot be set is logged once, and tried again. One call at a
   * time does so; of those that come meanwhile one waits, for all of them.
   */
  async settle(groups: GroupsAbove, signal: AbortSignal): Promise<void> {
    if (!this.#options.isReserved && this.#isTakenBack) return;
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    await this.#turns.run(async () => {
      this.#isWaiting = false;
      await this.#settleAll(groups, signal);
    });
  }

  async #settleAll({ all, above }: GroupsAbove, signal: AbortSignal): Promise<void> {
    const { isReserved, limits } = this.#options;
    this.#isTakenBack = true;
    const pods = [...this.#pods.values()];
    const total = sumOf(pods);
    // As a kubelet has it: what is kept as far as possible counts in the group of all pods for both.
    const ofAll: Protection = { ...total, minBytes: total.minBytes + total.lowBytes };
    const wanted = new Map<string, Protection>([...above, all].map((path) => [path, ofAll]));
    for (const { path, qos, requestBytes } of pods) {
      if (qos !== 'Burstable') continue;
      const ofClass = posix.dirname(path);
      const { lowBytes } = wanted.get(ofClass) ?? NOTHING;
      wanted.set(ofClass, { minBytes: 0n, lowBytes: lowBytes + requestBytes });
    }
    for (const pod of pods) wanted.set(pod.path, sumOf([pod]));
    for (const path of this.#settled.keys()) if (!wanted.has(path)) wanted.set(path, NOTHING);
    for (const [path, protection] of wanted) {
      const isUntouched = !isReserved && isNothing(limits.protectionOf(path) ?? NOTHING);
      if (!isUntouched) await this.#apply(path, protection, signal);
    }
  }

  async #apply(path: string, protection: Protection, signal: AbortSignal): Promise<void> {
    const { minBytes, lowBytes } = protection;
    const words = `${minBytes} ${lowBytes}`;
    if ((this.#settled.get(path) ?? '0 0') === words && this.#options.isReserved) return;
    try {
      const isSlice = path.endsWith(SLICE);
      const properties = [`MemoryMin=${minBytes}`, `MemoryLow=${lowBytes}`];
      if (isSlice) await this.#options.setSlice(posix.basename(path), properties, signal);
      const isSet = isSlice || (await this.#options.limits.protect(path, protection));
      if (isSet && !isNothing(protection)) this.#settled.set(path, words);
      else this.#settled.delete(path);
    } catch (error) {
      this.#log('Memory of pods is not reserved', path, error);
    }
  }

  #log(message: string, cgroup: string, error: unknown): void {
    const err = messageOf(error);
    if (this.#logged.add(`${message} ${err}`)) this.#options.logger.warn(message, { cgroup, err });
  }
}

function sumOf(pods: readonly ProtectedPod[]): Protection {
  const sum = (wanted: PodQosClass): bigint =>
    pods.reduce((bytes, { qos, requestBytes }) => bytes + (qos === wanted ? requestBytes : 0n), 0n);
  return { minBytes: sum('Guaranteed'), lowBytes: sum('Burstable') };
}

function isNothing({ minBytes, lowBytes }: Protection): boolean {
  return minBytes === 0n && lowBytes === 0n;
}

/** What containers get; undefined on cgroup v1, and where the options ask for nothing. `mountinfo`: the text of /proc/self/mountinfo. Pure. */
export function findMemoryQos(
  options: Pick<AgentOptions, 'memoryReservationPolicy' | 'memoryThrottlingFactor'>,
  allocatableBytes: bigint,
  mountinfo: string,
): MemoryQos | undefined {
  const { memoryReservationPolicy, memoryThrottlingFactor: throttlingFactor } = options;
  const isReserved = memoryReservationPolicy === 'TieredReservation';
  if (!isReserved && throttlingFactor === undefined) return undefined;
  if (findUnifiedAlone(findCgroupMounts(mountinfo)) === undefined) return undefined;
  return { isReserved, throttlingFactor, allocatableBytes };
}
