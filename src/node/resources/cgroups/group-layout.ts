import { join } from 'node:path';
import {
  allPodsGroup,
  CGROUP_DRIVERS,
  type CgroupDriver,
  type CgroupNames,
  findPodOfGroup,
  QOS_GROUPS,
  toCgroupPath,
} from '../../runtime/config/pod-cgroup-names.js';
import { type GroupTrees, toWeight } from './group-trees.js';
import { type SliceLimits } from './slice-limits.js';

/** An existing group of a pod. */
export interface PodGroup {
  /** As in the group's name: in that of a slice, dashes are underscores. */
  readonly uid: string;
  readonly path: string;
  readonly driver: CgroupDriver;
  readonly layout: GroupLayout;
}

/** What {@link GroupLayout} needs. */
export interface GroupLayoutOptions {
  readonly root: CgroupNames;
  /** Whether nobody else has groups below the root. */
  readonly isOwn: boolean;
  readonly trees: GroupTrees;
  /** Makes systemd forget an empty slice. */
  readonly stopSlice: (slice: string, signal: AbortSignal) => Promise<void>;
  readonly slices: Pick<SliceLimits, 'weigh' | 'forget'>;
}

/** What a kubelet gives to pods without requests. */
const LEAST_SHARES = 2n;

/**
 * The kubelet's layout below a root, as it exists in the trees.
 *
 * It covers the names of both drivers, as pods outlive a change of the driver.
 */
export class GroupLayout {
  readonly #options: GroupLayoutOptions;
  readonly #all: CgroupNames;

  constructor(options: GroupLayoutOptions) {
    this.#options = options;
    this.#all = allPodsGroup(options.root);
  }

  /** Whether nobody else has groups in it. */
  get isOwn(): boolean {
    return this.#options.isOwn;
  }

  /** Whether a path in a driver's form is below this root. */
  holds(path: string, driver: CgroupDriver): boolean {
    return path.startsWith(`${toCgroupPath(this.#all, driver)}/`);
  }

  /** The group of all pods in a driver's form, and those above it that nobody else has, from the top downwards. */
  allPods(driver: CgroupDriver): { readonly path: string; readonly above: readonly string[] } {
    const own = this.isOwn ? this.#all.slice(0, -1) : [];
    const above = own.map((_name, at) => toCgroupPath(own.slice(0, at + 1), driver));
    return { path: toCgroupPath(this.#all, driver), above };
  }

  /** Every group of a pod. */
  async findPods(): Promise<readonly PodGroup[]> {
    const found: PodGroup[] = [];
    for (const driver of CGROUP_DRIVERS) {
      for (const names of [this.#all, ...this.#classes()]) {
        const above = toCgroupPath(names, driver);
        for (const name of await this.#options.trees.list(above)) {
          const uid = findPodOfGroup(name, driver);
          if (uid !== undefined) found.push({ uid, path: join(above, name), driver, layout: this });
        }
      }
    }
    return found;
  }

  /** Removes a group without processes; false when some of it stays. Never ends a process. */
  async remove({ path, driver }: PodGroup, signal: AbortSignal): Promise<boolean> {
    const { trees } = this.#options;
    if (driver === 'systemd') {
      // systemd would end what is in a slice.
      if ((await trees.children(path)).length > 0) return false;
      await this.#stopSlice(path, signal);
    }
    if (!(await trees.remove(path))) return false;
    if (driver === 'systemd') await this.#options.slices.forget(path, signal);
    return true;
  }

  /** Burstable pods together get the sum of their requests; pods without requests get the rest. */
  async balance(signal: AbortSignal): Promise<void> {
    const { trees, slices } = this.#options;
    const [burstable, bestEffort] = this.#pathsOfClasses('cgroupfs');
    if (trees.has(burstable)) await trees.weighBySum(burstable);
    if (trees.has(bestEffort)) await trees.weigh(bestEffort, LEAST_SHARES);
    const [ofBurstable, ofBestEffort] = this.#pathsOfClasses('systemd');
    if (trees.has(ofBurstable))
      await slices.weigh(ofBurstable, await trees.summedWeight(ofBurstable), signal);
    if (trees.has(ofBestEffort)) await slices.weigh(ofBestEffort, toWeight(Number(LEAST_SHARES)), signal);
  }

  /** Removes the empty groups above the pods, up to the top; stops when `isNeeded`. */
  async removeRoot(isNeeded: () => boolean, signal: AbortSignal): Promise<void> {
    const { trees } = this.#options;
    const above = this.#all.map((_name, at) => this.#all.slice(0, this.#all.length - at));
    for (const driver of CGROUP_DRIVERS) {
      for (const names of [...this.#classes(), ...above]) {
        const path = toCgroupPath(names, driver);
        if (!trees.has(path)) continue;
        const isEmpty = (await trees.children(path)).length === 0;
        if (isNeeded()) return;
        if (driver === 'systemd' && isEmpty) await this.#stopSlice(path, signal);
        if (driver === 'cgroupfs' || isEmpty) await trees.removeEmpty(path);
      }
    }
  }

  #pathsOfClasses(driver: CgroupDriver): readonly [burstable: string, bestEffort: string] {
    const [burstable = '', bestEffort = ''] = this.#classes().map((names) => toCgroupPath(names, driver));
    return [burstable, bestEffort];
  }

  #classes(): readonly CgroupNames[] {
    return QOS_GROUPS.map((qos) => [...this.#all, qos]);
  }

  #stopSlice(path: string, signal: AbortSignal): Promise<void> {
    return this.#options.stopSlice(path.slice(path.lastIndexOf('/') + 1), signal);
  }
}
