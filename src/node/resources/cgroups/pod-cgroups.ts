/**
 * The cgroups of pods, in the kubelet's layout: `ROOT/kubepods/burstable/podUID`, or systemd's slices of that
 * name.
 *
 * In: pods that get a sandbox. Out: the cgroup_parent of their sandboxes; with the cgroupfs driver, and if
 * this machine allows it, also groups with the pods' CPU shares and limits; and in the end the removal of the
 * groups. Runtimes create what is missing themselves, and systemd creates its slices.
 *
 * It assumes that others may have groups of the same layout, above all a kubelet, which kills everything that
 * it does not know in pods' groups. So by default the agent has a root of its own. Below any other root it
 * removes only groups of its own pods, and nothing above them. Nothing here ends a process.
 *
 * @module
 */
import { posix } from 'node:path';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type Supply } from '#kube/node/node-supplies.js';
import { type ReportedCgroups } from '#kube/node/pleg-report.js';
import { computePodQos } from '#kube/pod/pod-qos.js';
import { type PodRef } from '#kube/pod/pod-ref.js';
import { computePodRequests } from '#kube/pod/pod-requests.js';
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
import { type AllocatableLimits } from './allocatable-limits.js';
import { type CgroupDriverWatch } from './cgroup-driver-watch.js';
import { CgroupProblems } from './cgroup-problems.js';
import { GroupLayout, type PodGroup } from './group-layout.js';
import { type GroupLimits, type LimitPhase } from './group-limits.js';
import { type GroupTrees } from './group-trees.js';
import { type SliceLimits } from './slice-limits.js';
import { type ClassReserve } from './class-reserve.js';
import { type MemoryProtection } from './memory-protection.js';

/** Options of {@link PodCgroups}. */
export interface PodCgroupsOptions {
  /** Whether new pods get groups of their own; otherwise the runtime decides where their containers go. */
  readonly enabled: boolean;
  /** Nobody else has groups below this one. */
  readonly ownRoot: CgroupNames;
  /** The configured root for new pods. */
  readonly root: CgroupNames | undefined;
  readonly driver: Pick<CgroupDriverWatch, 'driver' | 'source' | 'conflict' | 'throwIfInConflict' | 'learn'>;
  readonly trees: GroupTrees;
  readonly limits: Pick<GroupLimits, 'set' | 'memoryRoomOf'>;
  /** The same of groups that are slices. */
  readonly slices: Pick<SliceLimits, 'set' | 'weigh' | 'forget'>;
  /** The limits of all pods together. */
  readonly allocatable: Pick<AllocatableLimits, 'limitPods' | 'forget'>;
  /** The memory that the kernel keeps for pods. */
  readonly protection: Pick<MemoryProtection, 'note' | 'forget' | 'settle'>;
  /** The memory that classes of service leave to those above them. */
  readonly reserve: Pick<ClassReserve, 'note' | 'forget' | 'settle'>;
  /** Whether cpu limits of pods are enforced, and with which period. */
  readonly cpuCfsQuota: boolean;
  readonly cpuCfsPeriodUs: number;
  /** Limit of processes and threads of a pod; 0 or less: none. */
  readonly podPidsLimit: number;
  /** Makes systemd forget an empty slice. */
  readonly stopSlice: (slice: string, signal: AbortSignal) => Promise<void>;
  /** The cgroup_parent of a sandbox, as the runtime reports it. */
  readonly readParent: (sandboxId: string, signal: AbortSignal, pod: PodRef) => Promise<string>;
  /** The pods of this agent that the runtime has. */
  readonly ownUids: () => Iterable<string>;
  readonly logger: Logger;
}

/** How many problems are remembered, so that each is logged once. */
const MAX_LOGGED = 100;
/** A uid in a form that is the same in all names. */
const keyOf = escapeForSystemd;

/** See the comment of this module. */
export class PodCgroups implements PodCgroupParents, PodLimits, PodCleaner {
  readonly name = 'cgroups of pods';
  readonly #options: PodCgroupsOptions;
  /**
   * Pods outlive a change of the root, so those in the agent's own one are covered whatever the present root
   * is.
   */
  readonly #layouts: readonly GroupLayout[];
  /**
   * The paths of pods of this run, by the keys of their uids; an entry stays as long as the pod is wanted.
   */
  readonly #paths = new Map<string, string>();
  /** The uids of owned pods that were seen and may have groups, by their keys. */
  readonly #own = new Map<string, string>();
  /** The pods' present limits, by the keys of their uids: readable without the trees. */
  readonly #settled = new Map<string, string>();
  /** Slices of systemd whose controllers were not checked yet, as runtimes create them. */
  readonly #unchecked = new Set<string>();
  readonly #problems: CgroupProblems;
  #mayHaveGroups = true;
  #isBalanced = false;
  /** Logged problems; an error's text may name a pod. */
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

  /** What all pods together have left of the memory that they may use; undefined where nothing limits them. */
  memoryRoom(): Supply | undefined {
    const { enabled, driver, limits } = this.#options;
    return enabled ? limits.memoryRoomOf(this.#layouts.at(-1)!.allPods(driver.driver).path) : undefined;
  }

  /** The present state, and what pods lack. */
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
    // The pod may have been edited since its sandbox was created, and request more.
    if (this.#layouts.some((layout) => layout.holds(parent, 'cgroupfs')))
      await this.#use(pod, parent, 'cgroupfs', 'grow');
    else if (this.#layouts.some((layout) => layout.holds(parent, 'systemd'))) {
      this.#unchecked.add(parent);
      this.#take(pod, parent);
      await this.#limitSlice(pod, parent, 'grow');
    }
    return parent;
  }

  async grow(pod: NodePod, sandbox: SandboxStatus): Promise<void> {
    const slice = this.#ownSliceOf(pod, sandbox);
    const path = slice ?? this.#ownPathOf(pod, sandbox);
    if (path === undefined || this.#settled.get(keyOf(pod.metadata.uid)) === this.#describe(pod, path))
      return;
    if (slice !== undefined) await this.#limitSlice(pod, slice, 'grow');
    else await this.#use(pod, path, 'cgroupfs', 'grow');
  }

  async settle(pod: NodePod, sandbox: SandboxStatus): Promise<void> {
    await this.#settleSlice(pod, sandbox);
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
    this.#protect(pod, path);
    await this.#limitAll();
  }

  /** Only systemd may write to a slice. */
  async #settleSlice(pod: NodePod, sandbox: SandboxStatus): Promise<void> {
    const path = this.#ownSliceOf(pod, sandbox);
    const key = keyOf(pod.metadata.uid);
    if (path === undefined || this.#settled.get(key) === this.#describe(pod, path)) return;
    this.#take(pod, path);
    await this.#limitSlice(pod, path, 'settle', true);
    this.#settled.set(key, this.#describe(pod, path));
    await this.#limitAll();
  }

  /** The pod has this group, whoever made it. */
  #take(pod: NodePod, path: string): void {
    const { uid } = pod.metadata;
    this.#paths.set(keyOf(uid), path);
    this.#own.set(keyOf(uid), uid);
    this.#mayHaveGroups = true;
    this.#protect(pod, path);
  }

  #protect({ metadata, spec }: NodePod, path: string): void {
    const { memoryBytes: requestBytes } = computePodRequests(spec);
    const taken = { path, qos: computePodQos(spec), requestBytes };
    this.#options.protection.note(keyOf(metadata.uid), taken);
    this.#options.reserve.note(keyOf(metadata.uid), taken);
  }

  #ownSliceOf(pod: NodePod, sandbox: SandboxStatus): string | undefined {
    const path = this.#findRecordedParent(pod, sandbox);
    const isOurs = this.#layouts.some((layout) => path !== undefined && layout.holds(path, 'systemd'));
    return isOurs ? path : undefined;
  }

  /** Rejects only with a PodloopError, and only where that is wanted. */
  async #limitSlice(pod: NodePod, path: string, phase: LimitPhase, mayReject = false): Promise<void> {
    const { signal } = new AbortController();
    try {
      await this.#options.slices.set(path, computePodShares(pod), this.#limitsOf(pod), phase, signal);
    } catch (error) {
      if (mayReject && error instanceof PodloopError) throw error;
      this.#logProblem('Limits of pods are not set', error);
    }
  }

  /** Undefined where the agent may not write to groups. */
  #ownPathOf(pod: NodePod, sandbox: SandboxStatus): string | undefined {
    const path = this.#findRecordedParent(pod, sandbox);
    const isOurs = this.#layouts.some((layout) => path !== undefined && layout.holds(path, 'cgroupfs'));
    return isOurs ? path : undefined;
  }

  /**
   * The group in a sandbox's annotations; undefined when there is none that counts.
   *
   * On a sandbox of a kubelet it is an annotation of the pod, which may have any value: only a group of
   * exactly that pod counts.
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
    const requests = [computePodShares(pod), computePodRequests(pod.spec).memoryBytes];
    return [path, ...requests, cpuQuotaUs, cpuPeriodUs, memoryBytes, pids].join(' ');
  }

  async cleanUp(view: CleanupView, signal: AbortSignal): Promise<'more' | undefined> {
    const { root, ownUids } = this.#options;
    if (root !== undefined) for (const uid of ownUids()) this.#own.set(keyOf(uid), uid);
    if (!this.#mayHaveGroups && this.#own.size === 0) return;
    const wanted = new Set([...view.desiredUids, ...view.possiblyRunningUids].map(keyOf));
    const left = await this.#removePods(signal, (group) => {
      const key = keyOf(group.uid);
      const current = this.#paths.get(key);
      // The pod had another QoS class or another driver before.
      if (current !== undefined && current !== group.path) return true;
      return !wanted.has(key) && view.mayRemove(this.#uidOf(group));
    });
    for (const key of this.#own.keys()) if (!left.has(key) && !wanted.has(key)) this.#own.delete(key);
    await this.#checkSlices();
    await this.#balance(signal);
    await this.#limitAll(signal);
    await this.#removeRoots(signal);
    return [...left].some((key) => !wanted.has(key)) ? 'more' : undefined;
  }

  /**
   * Removes what is empty by now; for the end of the agent, when nothing is created any more. Does not
   * reject.
   */
  async close(): Promise<void> {
    const { signal } = new AbortController();
    this.#paths.clear();
    try {
      const { trees } = this.#options;
      for (const group of await this.#findPods()) {
        const isOurs = group.layout.isOwn || this.#own.has(keyOf(group.uid));
        // A container that was not started yet has a group without a process: that stays, and so does the
        // pod's.
        if (isOurs && (await trees.isEmpty(group.path))) await group.layout.remove(group, signal);
      }
      await this.#removeRoots(signal);
    } catch (error) {
      this.#logProblem('Cgroups of pods not removed', error);
    }
  }

  /**
   * Creates the group of a pod with its CPU share. Where the machine does not allow that, the runtime does
   * it.
   */
  async #use(pod: NodePod, path: string, driver: CgroupDriver, phase: LimitPhase): Promise<void> {
    const { trees, limits } = this.#options;
    this.#take(pod, path);
    this.#isBalanced = false;
    // Only systemd may write to a slice.
    if (driver === 'systemd') {
      this.#unchecked.add(path);
      await this.#limitAll();
      await this.#limitSlice(pod, path, phase);
      return;
    }
    try {
      this.#problems.setMissing(await trees.make(path));
      await this.#limitAll();
      await trees.weigh(path, computePodShares(pod));
      await limits.set(path, this.#limitsOf(pod), phase);
    } catch (error) {
      if (error instanceof PodloopError) this.#logProblem('Limits of pods are not set', error, 'info');
      else this.#problems.setFailure(error);
    }
  }

  /** Limits all pods together, where new ones go. */
  async #limitAll(signal: AbortSignal = new AbortController().signal): Promise<void> {
    const { enabled, allocatable, protection, reserve, driver } = this.#options;
    if (!enabled) return;
    const { path, above } = this.#layouts.at(-1)!.allPods(driver.driver);
    await allocatable.limitPods(path, above, signal);
    await protection.settle({ all: path, above }, signal);
    await reserve.settle(signal);
  }

  /** systemd does not know all controllers, and enables those that it knows where a unit requests them. */
  async #checkSlices(): Promise<void> {
    this.#problems.keepSlices((slice) => this.#options.trees.has(slice));
    for (const path of this.#unchecked) {
      const missing = await this.#options.trees.enable(path);
      if (missing !== undefined) {
        this.#problems.setMissing(missing, path);
        // The runtime has made it by now.
        this.#isBalanced = false;
      }
      // If a slice is missing, the sandbox was not created yet, or is gone by now.
      if (missing !== undefined || ![...this.#paths.values()].includes(path)) this.#unchecked.delete(path);
    }
  }

  /** Removes unused groups that may go; returns the keys of the pods whose groups stay. */
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
      // Checked again, as things may have changed since the first decision.
      const isOver = isOurs && mayRemove(group) && (await trees.isUnused(group.path)) && mayRemove(group);
      if (!isOver || !(await group.layout.remove(group, signal))) {
        left.add(key);
        continue;
      }
      if (this.#paths.get(key) === group.path) {
        this.#paths.delete(key);
        await this.#forget(key, signal);
      }
      this.#settled.delete(key);
      this.#isBalanced = false;
      logger.info('Cgroup of a pod removed', { podUID: this.#uidOf(group), cgroup: group.path }, 4);
    }
    const [layout] = this.#layouts;
    for (const [key, path] of this.#paths) {
      // Somebody else removed its group, or it was never created.
      const gone = { uid: key, path, driver: 'cgroupfs', layout: layout! } as const;
      if (left.has(key) || trees.has(path) || !mayRemove(gone)) continue;
      if (path.endsWith('.slice')) await this.#options.slices.forget(path, signal);
      this.#paths.delete(key);
      await this.#forget(key, signal);
    }
    return left;
  }

  async #forget(key: string, signal: AbortSignal): Promise<void> {
    this.#options.reserve.forget(key);
    await this.#options.protection.forget(key, signal);
  }

  /** The complete uid if it is known; otherwise as a kubelet reads the name of a slice. */
  #uidOf({ uid, driver }: PodGroup): string {
    return this.#own.get(keyOf(uid)) ?? (driver === 'systemd' ? uid.replaceAll('_', '-') : uid);
  }

  async #balance(signal: AbortSignal): Promise<void> {
    if (this.#isBalanced) return;
    this.#isBalanced = true;
    try {
      for (const layout of this.#layouts) await layout.balance(signal);
    } catch (error) {
      this.#logProblem('Cgroups of pods are not weighed', error);
    }
  }

  async #findPods(): Promise<readonly PodGroup[]> {
    return (await Promise.all(this.#layouts.map((layout) => layout.findPods()))).flat();
  }

  /** Removes the parents once there are no pods any more. */
  async #removeRoots(signal: AbortSignal): Promise<void> {
    for (const layout of this.#layouts) {
      const isNeeded = (): boolean =>
        [...this.#paths.values()].some((path) => CGROUP_DRIVERS.some((driver) => layout.holds(path, driver)));
      if (!layout.isOwn || isNeeded() || (await layout.findPods()).length > 0) continue;
      this.#mayHaveGroups = false;
      await layout.removeRoot(isNeeded, signal);
      for (const { path, above } of CGROUP_DRIVERS.map((driver) => layout.allPods(driver))) {
        for (const each of [...above, path])
          if (!this.#options.trees.has(each)) await this.#options.allocatable.forget(each, signal);
      }
    }
  }

  /** Logs each problem once. */
  #logProblem(message: string, error: unknown, level: 'info' | 'warn' = 'warn'): void {
    // Which pod it was differs each time.
    const problem = `${message} ${systemCodeOf(error) || messageOf(error)}`;
    if (!this.#logged.add(problem)) return;
    this.#options.logger[level](message, { err: messageOf(error) });
  }
}
