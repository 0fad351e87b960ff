/**
 * The cgroups of pods, in the kubelet's layout: `ROOT/kubepods/burstable/podUID`, or systemd's slices of that name.
 *
 * In: pods that get a sandbox. Out: the cgroup_parent of their sandboxes; groups with the CPU shares that pods ask for
 * and with the limits of whole pods, where paths are ours to make (driver cgroupfs) and this machine lets us; and in the
 * end their removal. Runtimes make what is missing themselves, and systemd its slices.
 *
 * It assumes that somebody else may have groups of the same layout, a kubelet above all, which kills whatever it finds
 * in pods' groups that it does not know. What covers that: by default the root is one of this agent's own.
 * Below any other root only groups of pods of this agent are removed, and nothing above them. Nothing here ends a
 * process.
 *
 * @module
 */
import { posix } from 'node:path';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type ReportedCgroups } from '#kube/node/pleg-report.js';
import { type PodRef } from '#kube/pod/pod-ref.js';
import { computePodLimits, computePodShares } from '../../runtime/config/container-resources.js';
import { ANNOTATIONS, type SandboxStatus } from '#watch';
import {
  CGROUP_DRIVERS,
  type CgroupDriver,
  type CgroupNames,
  escapeForSystemd,
  findPodOfGroup,
  podGroup,
  toCgroupPath,
} from '../../runtime/config/pod-cgroup-names.js';
import { type CleanupView, type PodCleaner } from '../../pods/loop/housekeeping.js';
import { type PodCgroupParents, type PodLimits } from '../../pods/sync/sync-pod-ports.js';
import { messageOf, PodloopError } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { RecentKeys } from '#base/async/recent-keys.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { type CgroupDriverWatch } from './cgroup-driver-watch.js';
import { CgroupProblems } from './cgroup-problems.js';
import { GroupLayout, type PodGroup } from './group-layout.js';
import { type GroupLimits, type LimitPhase } from './group-limits.js';
import { type GroupTrees } from './group-trees.js';

/** What {@link PodCgroups} needs. */
export interface PodCgroupsOptions {
  /** Whether new pods get groups of their own here; else the runtime puts their containers where it wants. */
  readonly enabled: boolean;
  /** Below this one nobody else has groups. */
  readonly ownRoot: CgroupNames;
  /** Where new pods go instead, as somebody has said. */
  readonly root: CgroupNames | undefined;
  readonly driver: Pick<CgroupDriverWatch, 'driver' | 'source' | 'conflict' | 'throwIfInConflict' | 'learn'>;
  readonly trees: GroupTrees;
  readonly limits: Pick<GroupLimits, 'set'>;
  /** Whether pods are held to their cpu limits, and in which periods. */
  readonly cpuCfsQuota: boolean;
  readonly cpuCfsPeriodUs: number;
  /** How many processes and threads a pod may have; as many as it wants unless above 0. */
  readonly podPidsLimit: number;
  /** Lets systemd forget a slice in which there is nothing. */
  readonly stopSlice: (slice: string, signal: AbortSignal) => Promise<void>;
  /** The cgroup_parent of a sandbox by the runtime's word. */
  readonly readParent: (sandboxId: string, signal: AbortSignal, pod: PodRef) => Promise<string>;
  /** The pods of this agent that the runtime has. */
  readonly ownUids: () => Iterable<string>;
  readonly logger: Logger;
}

/** How many problems are remembered, so that each is logged once. */
const MAX_LOGGED = 100;
/** A uid as it is in every form of a name. */
const keyOf = escapeForSystemd;

/** See the comment of this module. */
export class PodCgroups implements PodCgroupParents, PodLimits, PodCleaner {
  readonly name = 'cgroups of pods';
  readonly #options: PodCgroupsOptions;
  /** Pods outlive a change of the root: those in our own one are looked after whatever the root is now. */
  readonly #layouts: readonly GroupLayout[];
  /** Where pods were put by this run, by the keys of their uids: what stays as long as they are wanted. */
  readonly #paths = new Map<string, string>();
  /** The uids of the pods of ours that were seen and may have groups, by their keys. */
  readonly #own = new Map<string, string>();
  /** The limits of pods that are in force, by the keys of their uids: readable without the trees. */
  readonly #settled = new Map<string, string>();
  /** Slices of systemd in which nobody has looked at the controllers yet: runtimes have them made. */
  readonly #unchecked = new Set<string>();
  readonly #problems: CgroupProblems;
  #mayHaveGroups = true;
  #isBalanced = false;
  /** What was logged; an error's text may name a pod. */
  readonly #logged = new RecentKeys({ maxKeys: MAX_LOGGED });

  constructor(options: PodCgroupsOptions) {
    this.#options = options;
    this.#problems = new CgroupProblems(options);
    const { ownRoot, root } = options;
    const own = new GroupLayout({ ...options, root: ownRoot, isOwn: true });
    this.#layouts = root === undefined ? [own] : [own, new GroupLayout({ ...options, root, isOwn: false })];
  }

  async prepare(pod: NodePod): Promise<string> {
    const { enabled, ownRoot, root = ownRoot } = this.#options;
    if (!enabled) return '';
    this.#options.driver.throwIfInConflict();
    const { driver } = this.#options.driver;
    const path = toCgroupPath(podGroup(pod, root), driver);
    await this.#use(pod, path, driver, 'settle');
    return path;
  }

  async learn(error: unknown): Promise<boolean> {
    return this.#options.enabled && (await this.#options.driver.learn(error));
  }

  /** What holds, and what pods go without. */
  report(): ReportedCgroups {
    const { driver, source, conflict } = this.#options.driver;
    return {
      ...{ driver, source },
      ...(conflict === undefined ? {} : { conflict }),
      problems: this.#problems.list(),
    };
  }

  async findParent(pod: NodePod, sandbox: SandboxStatus, signal: AbortSignal): Promise<string> {
    const recorded = this.#findRecordedParent(pod, sandbox);
    const parent = recorded ?? (await this.#options.readParent(sandbox.id, signal, pod.metadata));
    // The pod may have been edited since its sandbox was made, and ask for more.
    if (this.#layouts.some((layout) => layout.holds(parent, 'cgroupfs')))
      await this.#use(pod, parent, 'cgroupfs', 'grow');
    else if (this.#layouts.some((layout) => layout.holds(parent, 'systemd'))) this.#unchecked.add(parent);
    return parent;
  }

  async grow(pod: NodePod, sandbox: SandboxStatus): Promise<void> {
    const path = this.#ownPathOf(pod, sandbox);
    if (path === undefined || this.#settled.get(keyOf(pod.metadata.uid)) === this.#describe(pod, path))
      return;
    await this.#use(pod, path, 'cgroupfs', 'grow');
  }

  async settle(pod: NodePod, sandbox: SandboxStatus): Promise<void> {
    const path = this.#ownPathOf(pod, sandbox);
    const key = keyOf(pod.metadata.uid);
    if (path === undefined || this.#settled.get(key) === this.#describe(pod, path)) return;
    try {
      await this.#options.limits.set(path, this.#limitsOf(pod), 'settle');
    } catch (error) {
      if (error instanceof PodloopError) throw error;
      this.#logProblem('Limits of pods are not set', error, 'info');
    }
    this.#settled.set(key, this.#describe(pod, path));
  }

  /** Undefined where groups are not ours to write to. */
  #ownPathOf(pod: NodePod, sandbox: SandboxStatus): string | undefined {
    const path = this.#findRecordedParent(pod, sandbox);
    const isOurs = this.#layouts.some((layout) => path !== undefined && layout.holds(path, 'cgroupfs'));
    return isOurs ? path : undefined;
  }

  /**
   * The group that is written on a sandbox. On one that a kubelet has made it is an annotation of the pod, which may
   * name whatever it likes: only a group of that very pod counts. Undefined where nothing does.
   */
  #findRecordedParent({ metadata }: NodePod, { annotations }: SandboxStatus): string | undefined {
    const path = annotations[ANNOTATIONS.cgroupParent];
    if (path === undefined || path === '') return this.#options.enabled ? undefined : path;
    const isOfPod = CGROUP_DRIVERS.some((driver) => {
      const uid = findPodOfGroup(posix.basename(path), driver);
      if (uid === undefined || keyOf(uid) !== keyOf(metadata.uid)) return false;
      return this.#layouts.some((layout) => layout.holds(path, driver));
    });
    return isOfPod && posix.normalize(path) === path ? path : undefined;
  }

  #limitsOf(pod: NodePod): Parameters<GroupLimits['set']>[1] {
    const { podPidsLimit } = this.#options;
    const pids = podPidsLimit > 0 ? BigInt(podPidsLimit) : undefined;
    return { ...computePodLimits(pod, this.#options), pids };
  }

  #describe(pod: NodePod, path: string): string {
    const { cpuQuotaUs, cpuPeriodUs, memoryBytes, pids } = this.#limitsOf(pod);
    return [path, computePodShares(pod), cpuQuotaUs, cpuPeriodUs, memoryBytes, pids].join(' ');
  }

  async cleanUp(view: CleanupView, signal: AbortSignal): Promise<'more' | undefined> {
    const { root, ownUids } = this.#options;
    if (root !== undefined) for (const uid of ownUids()) this.#own.set(keyOf(uid), uid);
    if (!this.#mayHaveGroups && this.#own.size === 0) return;
    const wanted = new Set([...view.desiredUids, ...view.possiblyRunningUids].map(keyOf));
    const left = await this.#removePods(signal, (group) => {
      const key = keyOf(group.uid);
      const current = this.#paths.get(key);
      // Another class of service, or another driver, than before.
      if (current !== undefined && current !== group.path) return true;
      return !wanted.has(key) && view.mayRemove(this.#uidOf(group));
    });
    for (const key of this.#own.keys()) if (!left.has(key) && !wanted.has(key)) this.#own.delete(key);
    await this.#checkSlices();
    await this.#balance();
    await this.#removeRoots(signal);
    return [...left].some((key) => !wanted.has(key)) ? 'more' : undefined;
  }

  /** Removes what is empty by now; for the end of the agent, when nothing is being made any more. Does not reject. */
  async close(): Promise<void> {
    const { signal } = new AbortController();
    this.#paths.clear();
    try {
      const { trees } = this.#options;
      for (const group of await this.#findPods()) {
        const isOurs = group.layout.isOwn || this.#own.has(keyOf(group.uid));
        // A container that was not started yet has a group without a process: that stays, and the pod's with it.
        if (isOurs && (await trees.isEmpty(group.path))) await group.layout.remove(group, signal);
      }
      await this.#removeRoots(signal);
    } catch (error) {
      this.#logProblem('Cgroups of pods not removed', error);
    }
  }

  /** Makes the group of a pod, with its share of the CPU. A machine that does not allow it leaves it to the runtime. */
  async #use(pod: NodePod, path: string, driver: CgroupDriver, phase: LimitPhase): Promise<void> {
    const { trees, limits } = this.#options;
    const { uid } = pod.metadata;
    this.#paths.set(keyOf(uid), path);
    this.#own.set(keyOf(uid), uid);
    this.#mayHaveGroups = true;
    this.#isBalanced = false;
    // A slice is systemd's alone to write to.
    if (driver === 'systemd') {
      this.#unchecked.add(path);
      return;
    }
    try {
      this.#problems.setMissing(await trees.make(path));
      await trees.weigh(path, computePodShares(pod));
      await limits.set(path, this.#limitsOf(pod), phase);
    } catch (error) {
      if (error instanceof PodloopError) this.#logProblem('Limits of pods are not set', error, 'info');
      else this.#problems.setFailure(error);
    }
  }

  /** systemd knows not all controllers, and enables those that it knows where a unit asks for them. */
  async #checkSlices(): Promise<void> {
    this.#problems.keepSlices((slice) => this.#options.trees.has(slice));
    for (const path of this.#unchecked) {
      const missing = await this.#options.trees.enable(path);
      if (missing !== undefined) this.#problems.setMissing(missing, path);
      // Of one that is not there the sandbox was not made yet, or is gone by now.
      if (missing !== undefined || ![...this.#paths.values()].includes(path)) this.#unchecked.delete(path);
    }
  }

  /** Removes the unused ones among the groups that may go; gives the keys of the pods whose groups stay. */
  async #removePods(
    signal: AbortSignal,
    mayRemove: (group: PodGroup) => boolean,
  ): Promise<ReadonlySet<string>> {
    const { trees, logger } = this.#options;
    const left = new Set<string>();
    for (const group of await this.#findPods()) {
      signal.throwIfAborted();
      const key = keyOf(group.uid);
      const isOurs = group.layout.isOwn || this.#own.has(key);
      // Asked again after the look: what was decided before may have changed meanwhile.
      const isOver = isOurs && mayRemove(group) && (await trees.isUnused(group.path)) && mayRemove(group);
      if (!isOver || !(await group.layout.remove(group, signal))) {
        left.add(key);
        continue;
      }
      if (this.#paths.get(key) === group.path) this.#paths.delete(key);
      this.#settled.delete(key);
      this.#isBalanced = false;
      logger.info('Cgroup of a pod removed', { podUID: this.#uidOf(group), cgroup: group.path }, 4);
    }
    const [layout] = this.#layouts;
    for (const [key, path] of this.#paths) {
      // Its group was removed by somebody else, or was never made.
      const gone = { uid: key, path, driver: 'cgroupfs', layout: layout! } as const;
      if (!left.has(key) && !trees.has(path) && mayRemove(gone)) this.#paths.delete(key);
    }
    return left;
  }

  /** The whole uid, where it is known; else as a kubelet reads the name of a slice. */
  #uidOf({ uid, driver }: PodGroup): string {
    return this.#own.get(keyOf(uid)) ?? (driver === 'systemd' ? uid.replaceAll('_', '-') : uid);
  }

  async #balance(): Promise<void> {
    if (this.#isBalanced) return;
    this.#isBalanced = true;
    try {
      for (const layout of this.#layouts) await layout.balance();
    } catch (error) {
      this.#logProblem('Cgroups of pods are not weighed', error);
    }
  }

  async #findPods(): Promise<readonly PodGroup[]> {
    return (await Promise.all(this.#layouts.map((layout) => layout.findPods()))).flat();
  }

  /** Once there are no pods any more: what is above them. */
  async #removeRoots(signal: AbortSignal): Promise<void> {
    for (const layout of this.#layouts) {
      const isNeeded = (): boolean =>
        [...this.#paths.values()].some((path) => CGROUP_DRIVERS.some((driver) => layout.holds(path, driver)));
      if (!layout.isOwn || isNeeded() || (await layout.findPods()).length > 0) continue;
      this.#mayHaveGroups = false;
      await layout.removeRoot(isNeeded, signal);
    }
  }

  /** Logs each problem once. */
  #logProblem(message: string, error: unknown, level: 'info' | 'warn' = 'warn'): void {
    // Which pod it was changes from one to the next.
    const problem = `${message} ${systemCodeOf(error) || messageOf(error)}`;
    if (!this.#logged.add(problem)) return;
    this.#options.logger[level](message, { err: messageOf(error) });
  }
}
