import { join } from 'node:path';
import { type CgroupIo, KERNEL_CGROUPS } from '#base/proc/cgroups/cgroup-io.js';
import { CgroupLayout } from '#base/proc/cgroups/cgroup-layout.js';
import {
  findCgroupMountpoints,
  findCgroupMounts,
  findUnifiedAlone,
  type Hierarchy,
  V2_CONTROLLERS,
} from '#base/proc/cgroups/cgroup-mounts.js';
import { handDownTo, makeGroup, toWords } from '#base/proc/cgroups/make-group.js';
import { type MissingController } from '#base/proc/cgroups/missing-controller.js';
import { removeEmptyGroup } from '#base/proc/cgroups/remove-empty-group.js';
import { SliceYielder } from '#base/async/slices.js';
import { systemCodeOf } from '#base/errors/system-code.js';

const SHARES = { least: 2, most: 262_144 } as const;
const WEIGHT = { least: 1, most: 10_000 } as const;
const FILE = { 1: 'cpu.shares', 2: 'cpu.weight' } as const;
/** The kernel needs some 20 µs for each. */
const GROUPS_PER_SLICE = 100;
/** Retries when a parallel agent or runtime removes the parents of a new group. */
const ATTEMPTS = 3;

/**
 * The machine's trees of cgroups, as far as an agent uses them.
 *
 * On version 1, groups are created only in the tree of the cpu controller: runtimes create what they need
 * elsewhere. On version 2, they are created in the one tree with every controller that pods need, as a
 * runtime that finds a group there does not always enable the rest. They are removed from all trees.
 */
export class GroupTrees {
  readonly #io: CgroupIo;
  /** Groups are searched in the last one, so they are removed from there last. */
  readonly #mountpoints: readonly string[];
  readonly #cpu: Hierarchy | undefined;
  /** The tree of version 2 with the controllers that it passes down; undefined if there is none. */
  readonly #unified: Hierarchy | undefined;
  readonly #notOffered: readonly MissingController[];

  /** `mountinfo`: the text of /proc/self/mountinfo. */
  constructor(mountinfo: string, io: CgroupIo = KERNEL_CGROUPS) {
    this.#io = io;
    const trees = findCgroupMounts(mountinfo);
    const cpu = trees.find(({ controllers }) => controllers.includes('cpu'));
    const unified = openUnified(trees, io);
    this.#unified = unified;
    this.#cpu = cpu ?? unified;
    this.#notOffered = findNotOffered(trees, unified);
    const last = this.#cpu?.mountpoint;
    const others = findCgroupMountpoints(mountinfo).filter((path) => path !== last);
    this.#mountpoints = last === undefined ? others : [...others, last];
  }

  /**
   * Creates a group with its parents, and returns the controllers of version 2 that it lacks.
   *
   * Rejects where this machine does not allow it; does nothing where there is no tree for it.
   */
  async make(path: string): Promise<readonly MissingController[]> {
    const hierarchies = [...new Set([this.#cpu, this.#unified])].filter((tree) => tree !== undefined);
    const layout = new CgroupLayout(this.#io, hierarchies);
    for (let attempt = 1; ; attempt++) {
      try {
        const { missing } = await makeGroup(layout, path);
        return [...this.#notOffered, ...missing];
      } catch (error) {
        if (systemCodeOf(error) !== 'ENOENT' || attempt === ATTEMPTS) throw error;
      }
    }
  }

  /**
   * Enables the controllers of version 2 for a group that somebody else has created, such as a slice of
   * systemd.
   *
   * Returns the missing ones; undefined while the group does not exist.
   */
  async enable(path: string): Promise<readonly MissingController[] | undefined> {
    const unified = this.#unified;
    if (unified === undefined) return this.#notOffered;
    if (this.#processes(unified.mountpoint, path) === undefined) return undefined;
    return [...this.#notOffered, ...(await handDownTo(this.#io, unified, path))];
  }

  /** Sets a group's share of the CPU relative to its neighbours, in cgroup v1's unit. */
  async weigh(path: string, shares: bigint): Promise<void> {
    if (this.#cpu === undefined) return;
    const text = this.#cpu.version === 1 ? String(shares) : String(toWeight(Number(shares)));
    await this.#write(this.#cpu, path, text);
  }

  /** A group's share of the CPU, in cgroup v2's unit; undefined if it is not there. */
  weightOf(path: string): number | undefined {
    const cpu = this.#cpu;
    const text = cpu && this.#io.read(join(cpu.mountpoint, path, FILE[cpu.version]));
    return text === undefined ? undefined : this.#toWeight(Number(text));
  }

  /** The sum of the shares of a group's children, in cgroup v2's unit. */
  async summedWeight(path: string): Promise<number> {
    return this.#toWeight(this.#cpu === undefined ? 0 : await this.#sumOfChildren(this.#cpu, path));
  }

  /** Sets a group's share to the sum of its children's. */
  async weighBySum(path: string): Promise<void> {
    const cpu = this.#cpu;
    if (cpu !== undefined) await this.#write(cpu, path, String(await this.#sumOfChildren(cpu, path)));
  }

  #toWeight(amount: number): number {
    return this.#cpu?.version === 1 ? toWeight(amount) : Math.max(WEIGHT.least, amount);
  }

  /** In the unit of the tree, as far as a group can have it. */
  async #sumOfChildren(cpu: Hierarchy, path: string): Promise<number> {
    const folder = join(cpu.mountpoint, path);
    let sum = 0;
    const slices = new SliceYielder({ itemsPerSlice: GROUPS_PER_SLICE });
    for (const name of await this.#io.children(folder)) {
      sum += Number(this.#io.read(join(folder, name, FILE[cpu.version])) ?? 0);
      if (slices.isFull()) await slices.nextSlice();
    }
    const { least, most } = cpu.version === 1 ? SHARES : WEIGHT;
    return Math.min(most, Math.max(least, sum));
  }

  /** The names of a group's children, in the tree in which groups are searched. */
  async list(path: string): Promise<readonly string[]> {
    const mountpoint = this.#mountpoints.at(-1);
    return mountpoint === undefined ? [] : await this.#io.children(join(mountpoint, path));
  }

  /** The names of a group's children in any tree. */
  async children(path: string): Promise<readonly string[]> {
    const names = await Promise.all(
      this.#mountpoints.map((mountpoint) => this.#io.children(join(mountpoint, path))),
    );
    return [...new Set(names.flat())];
  }

  /** Whether a group exists in any tree. */
  has(path: string): boolean {
    return this.#mountpoints.some((mountpoint) => this.#processes(mountpoint, path) !== undefined);
  }

  /** Whether a group has no children, in the tree in which groups are searched. */
  async isEmpty(path: string): Promise<boolean> {
    const mountpoint = this.#mountpoints.at(-1);
    if (mountpoint === undefined || (this.#processes(mountpoint, path) ?? '') !== '') return false;
    return (await this.list(path)).length === 0;
  }

  /** Whether a group and all below it have no process, in any tree. */
  async isUnused(path: string): Promise<boolean> {
    if (this.#mountpoints.some((mountpoint) => (this.#processes(mountpoint, path) ?? '') !== ''))
      return false;
    for (const name of await this.children(path)) {
      if (!(await this.isUnused(join(path, name)))) return false;
    }
    return true;
  }

  /** Removes a group with all below it from all trees; false when some of it stays. Never ends a process. */
  async remove(path: string): Promise<boolean> {
    // Runtimes remove the groups that they have created: usually nothing is below.
    if (await this.removeEmpty(path)) return true;
    let isGone = true;
    for (const name of await this.children(path)) {
      if (!(await this.remove(join(path, name)))) isGone = false;
    }
    return (await this.removeEmpty(path)) && isGone;
  }

  /** Removes a group without children and processes; see {@link GroupTrees.remove}. */
  async removeEmpty(path: string): Promise<boolean> {
    const isGoneFrom = async (mountpoint: string): Promise<boolean> =>
      await removeEmptyGroup(this.#io, join(mountpoint, path));
    const [last, ...others] = this.#mountpoints.toReversed();
    const gone = await Promise.all(others.map(isGoneFrom));
    // The rest is found again from there.
    return gone.every(Boolean) && (last === undefined || (await isGoneFrom(last)));
  }

  /** The ids of the processes directly in a group, as text; undefined if it does not exist. */
  #processes(mountpoint: string, path: string): string | undefined {
    return this.#io.read(join(mountpoint, path, 'cgroup.procs'))?.trim();
  }

  async #write(cpu: Hierarchy, path: string, text: string): Promise<void> {
    const file = join(cpu.mountpoint, path, FILE[cpu.version]);
    const old = this.#io.read(file);
    if (old === undefined || old.trim() === text) return;
    await this.#io.write(file, text).catch((error: unknown) => {
      // It disappeared meanwhile.
      if (!['ENOENT', 'ENODEV'].includes(systemCodeOf(error))) throw error;
    });
  }
}

/** The tree of version 2 with its useful controllers that no tree of version 1 has. */
function openUnified(trees: readonly Hierarchy[], io: CgroupIo): Hierarchy | undefined {
  const unified = trees.find(({ version }) => version === 2);
  if (unified === undefined) return undefined;
  const taken = trees.flatMap(({ controllers }) => controllers);
  const own = toWords(io.read(join(unified.mountpoint, 'cgroup.controllers')));
  const controllers = V2_CONTROLLERS.filter((name) => own.includes(name) && !taken.includes(name));
  return controllers.length === 0 ? undefined : { ...unified, controllers };
}

/**
 * For a machine with version 2 only: what the top of its tree lacks. On version 1 each tree exists or not.
 */
function findNotOffered(
  trees: readonly Hierarchy[],
  unified: Hierarchy | undefined,
): readonly MissingController[] {
  if (findUnifiedAlone(trees) === undefined) return [];
  return V2_CONTROLLERS.filter((name) => unified?.controllers.includes(name) !== true).map((controller) => ({
    ...{ controller, group: '/', reason: 'not offered', code: '' },
  }));
}

/**
 * Converts shares to weights as runtimes do. Source:
 * https://git.k8s.io/enhancements/keps/sig-node/2254-cgroup-v2
 */
export function toWeight(shares: number): number {
  return 1 + Math.floor(((shares - SHARES.least) * (WEIGHT.most - 1)) / (SHARES.most - SHARES.least));
}
