/**
 * Cgroups of pods and containers: limits, accounting, the certainty of killing all of a container, OOM kills.
 *
 * ```
 * each tree ── cgroup parent of the pod (default /podloop) ── PREFIX-SANDBOX ── CONTAINER
 * ```
 *
 * In: sandboxes' and containers' ids, CRI's LinuxContainerResources. Out: groups, and files through which a
 * container's first process joins. It assumes nothing of the machine: what may be written is tried out at the
 * start, version 1 (one tree for each controller), version 2, or both beside one another; where nothing may be
 * written every call does nothing, and {@link Cgroups.describe} says so. The kernel holds all state, and our groups
 * are known by their names, so a crash loses nothing: {@link Cgroups.restore} finds them again and removes those
 * that belong to nobody.
 *
 * @module
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type LinuxContainerResources, type PodSandboxConfig } from '#watch/messages';
import { type Clock, SystemClock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { applySettings } from './apply-settings.js';
import { type CgroupIo, KERNEL_CGROUPS } from '#base/proc/cgroups/cgroup-io.js';
import { DEFAULT_PARENT, toCgroupPath } from './cgroup-parent.js';
import { type CgroupHost, ContainerCgroup } from './container-cgroup.js';
import { detectCgroups, type DetectedCgroups } from './detect-cgroups.js';
import { type Killer, type ProcessFinder } from './end-group.js';
import { findPodGroups, listGroups, toPodGroup } from './find-pod-groups.js';
import { type GroupUsage, readGroupUsage } from '#base/proc/usage/group-usage.js';
import { findProcess } from '../process/child-identity.js';
import { GroupParents } from './group-parents.js';
import { GroupRemovals } from './group-removals.js';
import { mayLowerOomScore } from './oom-score.js';
import { PodWeights } from './pod-weights.js';
import { computeSettings } from './resource-settings.js';

/** Where version 2 is mounted when it is alone; beside version 1 it is mounted below. */
const UNIFIED = '/sys/fs/cgroup';

/** What {@link Cgroups.detect} needs. */
export interface CgroupsOptions {
  readonly logger: Logger;
  /** Begins the name of every group of ours; no two runtimes of a machine may have the same. */
  readonly prefix: string;
  readonly clock?: Clock;
  readonly io?: CgroupIo;
  /** The text of /proc/self/mountinfo, for tests. */
  readonly mountinfo?: string;
  readonly kill?: Killer;
  readonly find?: ProcessFinder;
}

/** A pod that there is, as {@link Cgroups.restore} takes it. */
export interface LivePod {
  readonly sandboxId: string;
  /** Undefined when its record was lost and only its containers are known. */
  readonly config: PodSandboxConfig | undefined;
  readonly containerIds: readonly string[];
}

/** The prefix for a runtime by its root folder: the same after every restart, another for every other runtime. */
export function toCgroupPrefix(rootDir: string): string {
  return `podloop-${createHash('sha256').update(rootDir).digest('hex').slice(0, 8)}`;
}

/** The cgroups of one runtime; see the module's description. */
export class Cgroups {
  readonly #host: CgroupHost;
  readonly #prefix: string;
  readonly #detected: DetectedCgroups;
  readonly #mayLower: boolean;
  /** Where the groups of pods are: sandbox id to path. */
  readonly #pods = new Map<string, string>();
  readonly #parents: GroupParents;
  readonly #weights: PodWeights;

  private constructor(host: CgroupHost, prefix: string, detected: DetectedCgroups, mayLower: boolean) {
    this.#host = host;
    this.#prefix = prefix;
    this.#detected = detected;
    this.#mayLower = mayLower;
    this.#parents = new GroupParents({ layout: host.layout, prefix, logger: host.logger });
    this.#weights = new PodWeights(host.layout);
  }

  /** Finds out what this machine allows. Does not reject: without cgroups there is an object that does nothing. */
  static async detect(options: CgroupsOptions): Promise<Cgroups> {
    const { logger, prefix, clock = new SystemClock(), io = KERNEL_CGROUPS } = options;
    const { kill = killProcess, find = findProcess } = options;
    const mountinfo = options.mountinfo ?? (await readFile('/proc/self/mountinfo', 'utf8').catch(() => ''));
    const detected = await detectCgroups(io, mountinfo, `${prefix}.probe`);
    const { layout } = detected;
    const means = { layout, clock, logger, kill, find };
    const host: CgroupHost = { ...means, removals: new GroupRemovals(means) };
    const cgroups = new Cgroups(host, prefix, detected, await mayLowerOomScore());
    logger.info('Cgroups', { ...cgroups.describe() }, 2);
    const { notice } = cgroups;
    if (notice !== undefined) logger.warn('Limits are without effect', { notice });
    return cgroups;
  }

  /** Whether any tree may be written. */
  get usable(): boolean {
    return this.#layout.hierarchies.length > 0;
  }

  /** Of the trees that count and limit. */
  get version(): 1 | 2 {
    return this.#layout.version;
  }

  /** Where the only tree is mounted, of version 2 and in the usual place; undefined beside any of version 1. */
  get unifiedMountpoint(): string | undefined {
    const [tree, ...others] = this.#layout.hierarchies;
    const isUnified = tree?.version === 2 && others.length === 0 && tree.mountpoint === UNIFIED;
    return isUnified ? tree.mountpoint : undefined;
  }

  /** What there is and what not. */
  describe(): CgroupsDescription {
    return describeCgroups(this.#detected, this.#mayLower);
  }

  /** What is not limited here, in a sentence; undefined when everything that pods usually ask for is. */
  get notice(): string | undefined {
    return toNotice(this.describe());
  }

  /** Makes the group of a pod below its cgroup parent. Idempotent. A parent that is no path is INVALID_ARGUMENT. */
  async createPod(sandboxId: string, config: PodSandboxConfig): Promise<void> {
    const path = this.#remember(sandboxId, config);
    await this.#make(path);
    await this.#weights.apply(sandboxId, path, config);
  }

  /** Takes up changed resources of a pod; see {@link Cgroups.createPod}. */
  async updatePod(sandboxId: string, config: PodSandboxConfig): Promise<void> {
    const path = this.#pods.get(sandboxId);
    if (path !== undefined) await this.#weights.apply(sandboxId, path, config);
  }

  /** What a pod uses, all its containers together; undefined when it has no group. */
  podUsage(sandboxId: string): GroupUsage | undefined {
    const path = this.#pods.get(sandboxId);
    const [anchor] = this.#layout.hierarchies;
    if (path === undefined || anchor === undefined) return undefined;
    const there = this.#layout.io.read(join(anchor.mountpoint, path, 'cgroup.procs')) !== undefined;
    return there ? readGroupUsage(this.#layout, path, 'stats') : undefined;
  }

  /**
   * Kills what is left in a pod's group and removes it; false, and it is tried again, when it stays. Idempotent; does
   * not reject.
   */
  async removePod(sandboxId: string): Promise<boolean> {
    const path = this.#pods.get(sandboxId);
    if (path === undefined) return true;
    const gone = await this.#host.removals.end(path);
    this.#pods.delete(sandboxId);
    this.#weights.forget(sandboxId);
    if (this.#pods.size === 0) await this.#parents.remove();
    return gone;
  }

  /** Tries once more what could not be removed when it should have been. Costs nothing when there is none. */
  async retryRemovals(): Promise<void> {
    const gone = await this.#host.removals.retry();
    if (gone > 0 && this.#pods.size === 0) await this.#parents.remove();
  }

  /**
   * Makes the group of a container of a known pod, with its limits. Rejects, and there is no group, when one of
   * them cannot be had; limits for which this machine has no controller are without effect, as Status says, except
   * for cpusets, huge pages and the `unified` map: those are refused.
   */
  async createContainer(
    sandboxId: string,
    containerId: string,
    resources: LinuxContainerResources | undefined,
  ): Promise<ContainerCgroup> {
    const container = this.findContainer(sandboxId, containerId);
    const settings = computeSettings(resources, this.#layout.version);
    await this.#make(container.path);
    try {
      await applySettings(this.#layout, container.path, settings);
    } catch (error) {
      await container.remove();
      throw error;
    }
    await this.#balance(sandboxId);
    return container;
  }

  /** Throws INVALID_ARGUMENT for resources that make no sense. Whether they can be had shows when they are applied. */
  check(resources: LinuxContainerResources): void {
    computeSettings(resources, this.#layout.version);
  }

  /** The group of a container, whether it is there or not, and whoever made it. */
  findContainer(sandboxId: string, containerId: string): ContainerCgroup {
    const pod = this.#pods.get(sandboxId) ?? join(DEFAULT_PARENT, this.#nameOf(sandboxId));
    return new ContainerCgroup(this.#host, join(pod, containerId), () => this.#balance(sandboxId));
  }

  /**
   * Takes up the groups that an earlier runtime has left; kills and removes those of ours that belong to no pod or
   * container. `live` must be complete: what is not named there is gone for good.
   *
   * @returns how many groups were removed.
   */
  async restore(live: readonly LivePod[]): Promise<number> {
    for (const { sandboxId, config } of live) {
      if (config === undefined) continue;
      const path = this.#remember(sandboxId, config);
      this.#weights.restore(sandboxId, config);
      this.#host.logger.info('Cgroup of a pod', { sandboxId, cgroup: path }, 4);
    }
    const known = new Map(live.map(({ sandboxId, containerIds }) => [sandboxId, new Set(containerIds)]));
    let removed = 0;
    for (const { path, sandboxId } of await findPodGroups(this.#host, this.#prefix)) {
      const containers = known.get(sandboxId);
      if (containers === undefined) {
        if (await this.#host.removals.end(path)) removed++;
        continue;
      }
      this.#pods.set(sandboxId, path);
      for (const name of await listGroups(this.#host, path)) {
        if (!containers.has(name) && (await this.#host.removals.end(join(path, name)))) removed++;
      }
    }
    if (removed > 0) this.#host.logger.info('Cgroups of nobody removed', { groups: removed });
    if (this.#pods.size === 0) await this.#parents.remove();
    return removed;
  }

  get #layout() {
    return this.#host.layout;
  }

  #nameOf(sandboxId: string): string {
    return toPodGroup(this.#prefix, sandboxId);
  }

  #remember(sandboxId: string, config: PodSandboxConfig): string {
    const path = join(toCgroupPath(config.linux?.cgroupParent ?? ''), this.#nameOf(sandboxId));
    this.#pods.set(sandboxId, path);
    return path;
  }

  /** Makes a group in all trees, or in none. */
  async #make(path: string): Promise<void> {
    try {
      await this.#parents.make(path);
    } catch (error) {
      await this.#host.removals.remove(path, 0);
      throw error;
    }
  }

  async #balance(sandboxId: string): Promise<void> {
    const path = this.#pods.get(sandboxId);
    if (path !== undefined) await this.#weights.balance(sandboxId, path);
  }
}

function killProcess(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (systemCodeOf(error) === 'ESRCH') return false;
    throw error;
  }
}

/** The description for the log and Status. */
interface CgroupsDescription {
  readonly version: 'none' | 'v1' | 'v2' | 'v1 and v2';
  readonly controllers: readonly string[];
  /** Controllers without which something is not limited. */
  readonly missing: readonly string[];
  /** Why there is not more, a sentence each. */
  readonly reasons: readonly string[];
  /** Without CAP_SYS_RESOURCE an OOM score below the runtime's own stays without effect. */
  readonly oomScore: 'any' | 'raised only';
}

/** What is missed when it is not there. */
const WANTED = ['cpu', 'memory', 'pids', 'cpuset', 'hugetlb'];
/** What every pod asks for. */
const USUAL = ['cpu', 'memory', 'pids'];

/** @param mayLowerOomScore whether we have CAP_SYS_RESOURCE. */
function describeCgroups(
  { layout, reasons }: DetectedCgroups,
  mayLowerOomScore: boolean,
): CgroupsDescription {
  const versions = new Set(layout.hierarchies.map(({ version }) => version));
  const { controllers } = layout;
  return {
    version: versions.size === 2 ? 'v1 and v2' : versions.has(1) ? 'v1' : versions.has(2) ? 'v2' : 'none',
    controllers,
    missing: WANTED.filter((name) => !controllers.includes(name)),
    reasons,
    oomScore: mayLowerOomScore ? 'any' : 'raised only',
  };
}

/** What is not limited, in a sentence; undefined when everything that pods usually ask for is. */
function toNotice({ missing, reasons }: CgroupsDescription): string | undefined {
  const unlimited = missing.filter((name) => USUAL.includes(name));
  if (unlimited.length === 0) return undefined;
  // The same is wrong with each tree as a rule; Status has them all in its verbose answer.
  const more = reasons.length > 1 ? `, and ${reasons.length - 1} more like it` : '';
  return `nothing limits ${unlimited.join(', ')} of containers: ${reasons[0] ?? 'no such controller'}${more}`;
}
