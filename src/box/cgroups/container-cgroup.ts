import { join } from 'node:path';
import { type LinuxContainerResources } from '#watch/messages';
import { unimplemented } from '../rpc-error.js';
import { applySettings } from './apply-settings.js';
import { killGroup, membersOf } from './end-group.js';
import {
  type GroupUsage,
  readGroupUsage,
  readOomKills,
  type UsageDetail,
} from '#base/proc/usage/group-usage.js';
import { type GroupRemovals, type RemovalHost } from './group-removals.js';
import { setOomScoreAdj, toOomScoreAdj } from './oom-score.js';
import { computeSettings } from './resource-settings.js';

/** What groups need of their surroundings. */
export interface CgroupHost extends RemovalHost {
  readonly removals: GroupRemovals;
}

/**
 * The group of one container in every tree. It holds no state: the kernel does, so that it may be found again
 * after a restart. Where no cgroups can be written it does nothing, and `exists` is false.
 */
export class ContainerCgroup {
  /** Below the root of each tree. */
  readonly path: string;
  readonly #host: CgroupHost;
  readonly #onChanged: () => Promise<void>;

  /** @param onChanged called after limits have changed and after it was removed. */
  constructor(host: CgroupHost, path: string, onChanged: () => Promise<void>) {
    this.#host = host;
    this.path = path;
    this.#onChanged = onChanged;
  }

  /** Whether there is such a group; false where none can be made, before it is made and after its removal. */
  get exists(): boolean {
    const [anchor] = this.#host.layout.hierarchies;
    if (anchor === undefined) return false;
    return this.#host.layout.io.read(join(anchor.mountpoint, this.path, 'cgroup.procs')) !== undefined;
  }

  /** Files of the host into which a process writes `0` to join, all of them, before it leaves the host's files. */
  get joinFiles(): readonly string[] {
    return this.#host.layout.hierarchies.map(({ mountpoint }) => join(mountpoint, this.path, 'cgroup.procs'));
  }

  /** Whether a process of it was killed for want of memory. True until it is removed. */
  oomKilled(): boolean {
    return (readOomKills(this.#host.layout, this.path) ?? 0n) > 0n;
  }

  /** What it has used and uses; undefined when there is no such group. */
  usage(detail: UsageDetail = 'stats'): GroupUsage | undefined {
    return this.exists ? readGroupUsage(this.#host.layout, this.path, detail) : undefined;
  }

  /** The pids of its processes as the host sees them, those of groups below it too. */
  members(): Promise<readonly number[]> {
    return membersOf(this.#host.layout, this.path);
  }

  /** Kills everything in it and waits for the end; false when something is still there after ten seconds. */
  kill(): Promise<boolean> {
    return killGroup(this.#host.layout, this.path, this.#host);
  }

  /**
   * Sets its limits, all or none.
   *
   * @param resources all that holds from now on, not only what changes.
   */
  async update(resources: LinuxContainerResources): Promise<void> {
    const { layout, logger } = this.#host;
    if (layout.hierarchies.length === 0) {
      throw unimplemented('no cgroup may be written on this machine: limits cannot be changed');
    }
    await applySettings(layout, this.path, computeSettings(resources, layout.version));
    const members = await this.members();
    const refused = await setOomScoreAdj(members, toOomScoreAdj(resources));
    if (refused > 0) logger.info('OOM score not set', { cgroup: this.path, processes: refused }, 2);
    await this.#onChanged();
  }

  /**
   * Removes it, with what is below it; the processes should have ended. False, and it is tried again later, when it
   * stays. Idempotent; does not reject.
   */
  async remove(): Promise<boolean> {
    const gone = await this.#host.removals.remove(this.path);
    await this.#onChanged();
    return gone;
  }
}
