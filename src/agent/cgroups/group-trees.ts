import { join } from 'node:path';
import { type CgroupIo, KERNEL_CGROUPS } from '../../util/cgroups/cgroup-io.js';
import { CgroupLayout } from '../../util/cgroups/cgroup-layout.js';
import { findCgroupMountpoints, findCgroupMounts, type Hierarchy } from '../../util/cgroups/cgroup-mounts.js';
import { makeGroup, toWords } from '../../util/cgroups/make-group.js';
import { removeEmptyGroup } from '../../util/cgroups/remove-empty-group.js';
import { SliceYielder } from '../../util/slices.js';
import { systemCodeOf } from '../../util/system-code.js';

const SHARES = { least: 2, most: 262_144 } as const;
const WEIGHT = { least: 1, most: 10_000 } as const;
const FILE = { 1: 'cpu.shares', 2: 'cpu.weight' } as const;
/** The kernel answers within some 20 µs each. */
const GROUPS_PER_SLICE = 100;
/** How often the way to a new group may be removed under our feet, by an agent or runtime beside us. */
const ATTEMPTS = 3;

/**
 * The machine's trees of cgroups as far as an agent has to do with them. Groups are made and weighed in the tree of the
 * cpu controller alone: what runtimes need elsewhere they make themselves. They are removed from all trees.
 */
export class GroupTrees {
  readonly #io: CgroupIo;
  /** The last one is where groups are looked for: they go from there last. */
  readonly #mountpoints: readonly string[];
  readonly #cpu: Hierarchy | undefined;

  /** `mountinfo`: the text of /proc/self/mountinfo. */
  constructor(mountinfo: string, io: CgroupIo = KERNEL_CGROUPS) {
    this.#io = io;
    const cpu = findCpuTree(mountinfo, io);
    this.#cpu = cpu;
    const others = findCgroupMountpoints(mountinfo).filter((path) => path !== cpu?.mountpoint);
    this.#mountpoints = cpu === undefined ? others : [...others, cpu.mountpoint];
  }

  /** Makes a group with all above it. Rejects where this machine does not let us; where no cpu tree is, does nothing. */
  async make(path: string): Promise<void> {
    if (this.#cpu === undefined) return;
    const layout = new CgroupLayout(this.#io, [this.#cpu]);
    for (let attempt = 1; ; attempt++) {
      try {
        await makeGroup(layout, path);
        return;
      } catch (error) {
        if (systemCodeOf(error) !== 'ENOENT' || attempt === ATTEMPTS) throw error;
      }
    }
  }

  /** Gives a group its share of the CPU against its neighbours, in cgroup v1's measure. */
  async weigh(path: string, shares: bigint): Promise<void> {
    if (this.#cpu === undefined) return;
    const text = this.#cpu.version === 1 ? String(shares) : String(toWeight(Number(shares)));
    await this.#write(this.#cpu, path, text);
  }

  /** Gives a group the sum of the shares of those in it. */
  async weighBySum(path: string): Promise<void> {
    const cpu = this.#cpu;
    if (cpu === undefined) return;
    const folder = join(cpu.mountpoint, path);
    let sum = 0;
    const slices = new SliceYielder({ itemsPerSlice: GROUPS_PER_SLICE });
    for (const name of await this.#io.children(folder)) {
      sum += Number(this.#io.read(join(folder, name, FILE[cpu.version])) ?? 0);
      if (slices.isFull()) await slices.nextSlice();
    }
    const { least, most } = cpu.version === 1 ? SHARES : WEIGHT;
    await this.#write(cpu, path, String(Math.min(most, Math.max(least, sum))));
  }

  /** The names of the groups right below one, in the tree in which groups are looked for. */
  async list(path: string): Promise<readonly string[]> {
    const mountpoint = this.#mountpoints.at(-1);
    return mountpoint === undefined ? [] : await this.#io.children(join(mountpoint, path));
  }

  /** The names of the groups right below one, in any tree. */
  async children(path: string): Promise<readonly string[]> {
    const names = await Promise.all(
      this.#mountpoints.map((mountpoint) => this.#io.children(join(mountpoint, path))),
    );
    return [...new Set(names.flat())];
  }

  /** Whether a group is in any tree. */
  has(path: string): boolean {
    return this.#mountpoints.some((mountpoint) => this.#processes(mountpoint, path) !== undefined);
  }

  /** Whether there is nothing in a group, in the tree in which groups are looked for. */
  async isEmpty(path: string): Promise<boolean> {
    const mountpoint = this.#mountpoints.at(-1);
    if (mountpoint === undefined || (this.#processes(mountpoint, path) ?? '') !== '') return false;
    return (await this.list(path)).length === 0;
  }

  /** Whether no process is in a group, nor below it, in any tree. */
  async isUnused(path: string): Promise<boolean> {
    if (this.#mountpoints.some((mountpoint) => (this.#processes(mountpoint, path) ?? '') !== ''))
      return false;
    for (const name of await this.children(path)) {
      if (!(await this.isUnused(join(path, name)))) return false;
    }
    return true;
  }

  /** Removes a group with all below it, from all trees; false when some of it stays. Never ends a process. */
  async remove(path: string): Promise<boolean> {
    // Runtimes remove what they have made in it: most often nothing is below.
    if (await this.removeEmpty(path)) return true;
    let isGone = true;
    for (const name of await this.children(path)) {
      if (!(await this.remove(join(path, name)))) isGone = false;
    }
    return (await this.removeEmpty(path)) && isGone;
  }

  /** Removes a group in which there is no other and no process; see {@link GroupTrees.remove}. */
  async removeEmpty(path: string): Promise<boolean> {
    const isGoneFrom = async (mountpoint: string): Promise<boolean> =>
      await removeEmptyGroup(this.#io, join(mountpoint, path));
    const [last, ...others] = this.#mountpoints.toReversed();
    const gone = await Promise.all(others.map(isGoneFrom));
    // What is left elsewhere is found again from there.
    return gone.every(Boolean) && (last === undefined || (await isGoneFrom(last)));
  }

  /** The ids of the processes right in a group, as text; undefined where there is none of that name. */
  #processes(mountpoint: string, path: string): string | undefined {
    return this.#io.read(join(mountpoint, path, 'cgroup.procs'))?.trim();
  }

  async #write(cpu: Hierarchy, path: string, text: string): Promise<void> {
    const file = join(cpu.mountpoint, path, FILE[cpu.version]);
    const old = this.#io.read(file);
    if (old === undefined || old.trim() === text) return;
    await this.#io.write(file, text).catch((error: unknown) => {
      // It went meanwhile.
      if (!['ENOENT', 'ENODEV'].includes(systemCodeOf(error))) throw error;
    });
  }
}

/** Version 1 where it has the controller, else version 2 where its tree has. */
function findCpuTree(mountinfo: string, io: CgroupIo): Hierarchy | undefined {
  const trees = findCgroupMounts(mountinfo);
  const old = trees.find(({ controllers }) => controllers.includes('cpu'));
  if (old !== undefined) return old;
  const unified = trees.find(({ version }) => version === 2);
  if (unified === undefined) return undefined;
  const own = toWords(io.read(join(unified.mountpoint, 'cgroup.controllers')));
  return own.includes('cpu') ? { ...unified, controllers: ['cpu'] } : undefined;
}

/** As runtimes turn shares into weights. Source: https://git.k8s.io/enhancements/keps/sig-node/2254-cgroup-v2 */
function toWeight(shares: number): number {
  return 1 + Math.floor(((shares - SHARES.least) * (WEIGHT.most - 1)) / (SHARES.most - SHARES.least));
}
