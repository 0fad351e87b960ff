import { join } from 'node:path';
import { type CgroupIo, KERNEL_CGROUPS } from '#base/proc/cgroups/cgroup-io.js';
import { CgroupLayout } from '#base/proc/cgroups/cgroup-layout.js';
import { findCgroupMounts, type Hierarchy } from '#base/proc/cgroups/cgroup-mounts.js';
import { makeGroup, toWords } from '#base/proc/cgroups/make-group.js';
import { type Supply } from '#kube/node/node-supplies.js';
import { PodloopError } from '#base/errors/errors.js';
import { systemCodeOf } from '#base/errors/system-code.js';

/** The limits of a group; undefined: none. */
export interface Limits {
  readonly cpuQuotaUs: bigint | undefined;
  readonly cpuPeriodUs: bigint;
  readonly memoryBytes: bigint | undefined;
  readonly pids: bigint | undefined;
}

/** How much memory the kernel keeps for a group: in any case, and as far as it can. */
export interface Protection {
  readonly minBytes: bigint;
  readonly lowBytes: bigint;
}

/**
 * Which limits are set: only those that grow, or all; `reclaim` sets all, too, and lets the kernel take back what the group has of files.
 *
 * The children of a group must never have more than the group itself: it grows before them, and shrinks after
 * them.
 */
export type LimitPhase = 'grow' | 'settle' | 'reclaim';

const CONTROLLERS = ['cpu', 'memory', 'pids'] as const;
const NONE = { 1: '-1', 2: 'max' } as const;
/** Version 1 has 2^63 less a page for no limit. */
const HUGE = 2n ** 62n;
const MEMORY = { 1: 'memory.limit_in_bytes', 2: 'memory.max' } as const;
const USAGE = { 1: 'memory.usage_in_bytes', 2: 'memory.current' } as const;
/** Retries when a parallel agent or runtime removes a group while it is written. */
const ATTEMPTS = 3;
const INACTIVE_FILE = { 1: /^total_inactive_file (\d+)$/m, 2: /^inactive_file (\d+)$/m } as const;
const QUOTA_V1 = 'cpu.cfs_quota_us';
const PERIOD_V1 = 'cpu.cfs_period_us';

/** Sets the limits of whole pods in the machine's trees of cgroups. A missing controller is skipped. */
export class GroupLimits {
  readonly #io: CgroupIo;
  readonly #trees = new Map<string, Hierarchy>();

  /** `mountinfo`: the text of /proc/self/mountinfo. */
  constructor(mountinfo: string, io: CgroupIo = KERNEL_CGROUPS) {
    this.#io = io;
    const trees = findCgroupMounts(mountinfo);
    const unified = trees.find(({ version }) => version === 2);
    const own = unified && toWords(io.read(join(unified.mountpoint, 'cgroup.controllers')));
    const handed = CONTROLLERS.filter((name) => own?.includes(name));
    for (const name of CONTROLLERS) {
      const old = trees.find(({ controllers }) => controllers.includes(name));
      if (old !== undefined) this.#trees.set(name, old);
      else if (unified !== undefined && handed.includes(name)) {
        this.#trees.set(name, { ...unified, controllers: handed });
      }
    }
  }

  /**
   * Sets limits; returns the controllers of limits that cannot be set, as the controller is missing.
   *
   * Rejects where this machine does not allow it. Rejects with RESIZE_NOT_POSSIBLE for a memory limit below
   * the present usage without trying it: on version 2 the kernel would kill. A group that is removed meanwhile is made again.
   */
  async set(group: string, limits: Limits, phase: LimitPhase): Promise<readonly string[]> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#setAll(group, limits, phase);
      } catch (error) {
        if (!isGone(error) || attempt === ATTEMPTS) throw error;
      }
    }
  }

  async #setAll(group: string, limits: Limits, phase: LimitPhase): Promise<readonly string[]> {
    const unset: string[] = [];
    const { cpuQuotaUs, memoryBytes, pids } = limits;
    if (!(await this.#setMemory(group, memoryBytes, phase)) && memoryBytes !== undefined)
      unset.push('memory');
    if (!(await this.#setCpu(group, limits, phase)) && cpuQuotaUs !== undefined) unset.push('cpu');
    if (!(await this.#setPids(group, pids, phase)) && pids !== undefined) unset.push('pids');
    return unset;
  }

  /**
   * Sets how much memory the kernel keeps for a group: in any case, and as far as it can. False where that cannot be set: on
   * version 1, or while there is no such group.
   */
  async protect(group: string, { minBytes, lowBytes }: Protection): Promise<boolean> {
    const tree = this.#trees.get('memory');
    if (tree?.version !== 2) return false;
    const files = { 'memory.min': minBytes, 'memory.low': lowBytes };
    for (const [name, bytes] of Object.entries(files)) {
      const file = join(tree.mountpoint, group, name);
      const text = this.#io.read(file);
      if (text === undefined) return false;
      if (text.trim() === String(bytes)) continue;
      try {
        await this.#io.write(file, String(bytes));
      } catch (error) {
        if (isGone(error)) return false;
        throw error;
      }
    }
    return true;
  }

  /** What is set, whoever did it; undefined where it cannot be set. */
  protectionOf(group: string): Protection | undefined {
    const tree = this.#trees.get('memory');
    if (tree?.version !== 2) return undefined;
    const [minBytes, lowBytes] = ['memory.min', 'memory.low'].map((name) =>
      this.#io.read(join(tree.mountpoint, group, name))?.trim(),
    );
    if (minBytes === undefined || lowBytes === undefined) return undefined;
    const toBytes = (text: string): bigint => readLimit(text) ?? HUGE;
    return { minBytes: toBytes(minBytes), lowBytes: toBytes(lowBytes) };
  }

  /** Sets the limit of memory alone, undefined for none, as `reclaim`. Rejects as {@link set}. */
  async setMemory(group: string, memoryBytes: bigint | undefined): Promise<void> {
    await this.#setMemory(group, memoryBytes, 'reclaim');
  }

  /**
   * Throws RESIZE_NOT_POSSIBLE for a new limit of memory below the working set of a group, also a group that somebody else sets limits
   * of: file pages can be read again.
   */
  throwIfBelowWorkingSet(group: string, memoryBytes: bigint): void {
    const old = this.memoryLimitOf(group);
    if (old !== undefined && old <= memoryBytes) return;
    const { workingSet } = this.#usageOf(group);
    if (workingSet < memoryBytes) return;
    throw new PodloopError(
      'RESIZE_NOT_POSSIBLE',
      `a limit of ${memoryBytes} bytes is below what ${group} uses (${workingSet}): the kernel would kill`,
    );
  }

  /** As {@link throwIfBelowWorkingSet}, in a kubelet's words and for all that is in use: for pods. */
  throwIfBelowUsage(group: string, memoryBytes: bigint): void {
    const old = this.memoryLimitOf(group);
    if (old !== undefined && old <= memoryBytes) return;
    const { inUse } = this.#usageOf(group);
    if (inUse < memoryBytes) return;
    throw new PodloopError(
      'RESIZE_NOT_POSSIBLE',
      `attempting to set pod memory limit (${memoryBytes}) below current usage (${inUse})`,
    );
  }

  #usageOf(group: string): { readonly inUse: bigint; readonly workingSet: bigint } {
    const tree = this.#trees.get('memory');
    if (tree === undefined) return { inUse: 0n, workingSet: 0n };
    const read = (file: string): string => this.#io.read(join(tree.mountpoint, group, file))?.trim() ?? '';
    const inUse = BigInt(read(USAGE[tree.version]));
    const spare = BigInt(INACTIVE_FILE[tree.version].exec(read('memory.stat'))?.[1] ?? 0);
    return { inUse, workingSet: inUse > spare ? inUse - spare : 0n };
  }

  /** The limit of memory of a group, whoever has set it; undefined for none. */
  memoryLimitOf(group: string): bigint | undefined {
    const tree = this.#trees.get('memory');
    return tree && readLimit(this.#io.read(join(tree.mountpoint, group, MEMORY[tree.version])));
  }

  /** What a group is limited to, whoever did it; undefined if it is not there. */
  limitsOf(group: string): Limits | undefined {
    const [cpu, memory, pids] = CONTROLLERS.map((name) => this.#trees.get(name));
    const read = (tree: Hierarchy | undefined, file: string): string | undefined =>
      tree && this.#io.read(join(tree.mountpoint, group, file));
    if ([cpu, memory, pids].every((tree) => read(tree, 'cgroup.procs') === undefined)) return undefined;
    const [quota, period = '100000'] =
      cpu?.version === 1
        ? [read(cpu, QUOTA_V1), read(cpu, PERIOD_V1)?.trim()]
        : toWords(read(cpu, 'cpu.max'));
    return {
      ...{ cpuQuotaUs: readLimit(quota), cpuPeriodUs: BigInt(period) },
      ...{ memoryBytes: this.memoryLimitOf(group), pids: readLimit(read(pids, 'pids.max')) },
    };
  }

  /** What of a group's limit of memory is not in use, file pages that can be read again aside; undefined without a limit. */
  memoryRoomOf(group: string): Supply | undefined {
    const capacity = this.memoryLimitOf(group);
    if (capacity === undefined) return undefined;
    const { workingSet } = this.#usageOf(group);
    return { capacity, available: workingSet < capacity ? capacity - workingSet : 0n };
  }

  /** Whether a group has a limit of memory or processes. */
  isLimited(group: string): boolean {
    const tree = this.#trees.get('pids');
    const pids = tree && readLimit(this.#io.read(join(tree.mountpoint, group, 'pids.max')));
    return pids !== undefined || this.memoryLimitOf(group) !== undefined;
  }

  /** False where there is no such limit, like the other two. */
  async #setMemory(group: string, wanted: bigint | undefined, phase: LimitPhase): Promise<boolean> {
    const tree = await this.#open('memory', group, wanted);
    if (tree === undefined) return false;
    const file = join(tree.mountpoint, group, MEMORY[tree.version]);
    const text = this.#io.read(file);
    if (text === undefined) return false;
    const old = readLimit(text);
    if (old === wanted || (phase === 'grow' && !isMore(wanted, old))) return true;
    if (wanted !== undefined && !isMore(wanted, old)) {
      if (phase === 'reclaim') this.throwIfBelowWorkingSet(group, wanted);
      else this.throwIfBelowUsage(group, wanted);
    }
    try {
      await this.#io.write(file, wanted === undefined ? NONE[tree.version] : String(wanted));
    } catch (error) {
      if (systemCodeOf(error) !== 'EBUSY') throw error;
      throw new PodloopError('RESIZE_NOT_POSSIBLE', `pod memory limit (${wanted}) is below what it uses`);
    }
    return true;
  }

  async #setCpu(group: string, { cpuQuotaUs, cpuPeriodUs }: Limits, phase: LimitPhase): Promise<boolean> {
    const tree = await this.#open('cpu', group, cpuQuotaUs);
    if (tree === undefined) return false;
    const at = (file: string): string => join(tree.mountpoint, group, file);
    const [quota, period = '100000'] =
      tree.version === 1
        ? [this.#io.read(at(QUOTA_V1)), this.#io.read(at(PERIOD_V1))?.trim()]
        : toWords(this.#io.read(at('cpu.max')));
    if (quota === undefined) return false;
    const old = readLimit(quota);
    const isSamePeriod = BigInt(period) === cpuPeriodUs;
    if (old === cpuQuotaUs && (isSamePeriod || old === undefined)) return true;
    // In millionths of a core.
    const share = (amount: bigint | undefined, of: bigint): bigint | undefined =>
      amount === undefined ? undefined : (amount * 1_000_000n) / of;
    if (phase === 'grow' && !isMore(share(cpuQuotaUs, cpuPeriodUs), share(old, BigInt(period)))) return true;
    const text = cpuQuotaUs === undefined ? NONE[tree.version] : String(cpuQuotaUs);
    if (tree.version === 2) {
      await this.#io.write(at('cpu.max'), `${text} ${cpuPeriodUs}`);
      return true;
    }
    // Without an intermediate share that nobody requested.
    if (!isSamePeriod) {
      await this.#io.write(at(QUOTA_V1), NONE[1]);
      await this.#io.write(at(PERIOD_V1), String(cpuPeriodUs));
    }
    await this.#io.write(at(QUOTA_V1), text);
    return true;
  }

  async #setPids(group: string, wanted: bigint | undefined, phase: LimitPhase): Promise<boolean> {
    const tree = await this.#open('pids', group, wanted);
    if (tree === undefined) return false;
    const file = join(tree.mountpoint, group, 'pids.max');
    const text = this.#io.read(file);
    if (text === undefined) return false;
    const old = readLimit(text);
    if (old === wanted || (phase === 'grow' && !isMore(wanted, old))) return true;
    await this.#io.write(file, wanted === undefined ? 'max' : String(wanted));
    return true;
  }

  /**
   * The tree in which to set a limit, with the group in it; undefined when there is nothing to set or no
   * tree.
   */
  async #open(controller: string, group: string, wanted: bigint | undefined): Promise<Hierarchy | undefined> {
    const tree = this.#trees.get(controller);
    if (tree === undefined) return undefined;
    const isThere = this.#io.read(join(tree.mountpoint, group, 'cgroup.procs')) !== undefined;
    if (!isThere && wanted === undefined) return undefined;
    if (!isThere) await this.#make(tree, group);
    return tree;
  }

  async #make(tree: Hierarchy, group: string): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await makeGroup(new CgroupLayout(this.#io, [tree]), group);
        return;
      } catch (error) {
        // A parallel agent or runtime may remove the parents of a new group.
        if (systemCodeOf(error) !== 'ENOENT' || attempt === 3) throw error;
      }
    }
  }
}

function isGone(error: unknown): boolean {
  return ['ENOENT', 'ENODEV'].includes(systemCodeOf(error));
}

function readLimit(text: string | undefined): bigint | undefined {
  const word = text?.trim() ?? '';
  if (!/^\d+$/.test(word)) return undefined;
  const amount = BigInt(word);
  return amount >= HUGE ? undefined : amount;
}

function isMore(one: bigint | undefined, other: bigint | undefined): boolean {
  if (other === undefined) return false;
  return one === undefined || one > other;
}
