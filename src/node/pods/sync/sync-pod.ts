/**
 * Brings one pod nearer to its manifest, or to its end.
 *
 * In: a pod, and a view of it that is newer than the last operation. Out: changes of the runtime, and the
 * pod's status. It assumes that pod workers call it for one pod at a time, and that anything may fail half
 * way. A sync remembers only why containers wait and what it ended to replace it, the latter on disk before
 * it does so. Everything else, the next sync reads from what is observed.
 *
 * ```
 * status ─► network? ─► folders, volumes ─► actions ─► kill ─► sandbox ─► init containers ─► containers ─► status
 *              ├► edited in what it is made of: kill all, clear up ─► status ┤
 *              └► all containers restart: remove them ───────────────► status ┘
 * ```
 *
 * @module
 */
import { type Publisher } from '#base/channels/publishing-channel.js';
import { type ImageManager } from '../../images/image-manager.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodEventRecorder } from '#kube/pod/pod-event-recorder.js';
import { type PodRef } from '#kube/pod/pod-ref.js';
import { isTerminalPhase } from '#kube/pod/v1-pod-status.js';
import { type NodeFacts } from '../../runtime/config/node-facts.js';
import { type PodPaths, type PodStatus, type Runtime } from '#watch';
import { type RuntimeChanges } from '../../runtime/runtime-changes.js';
import { toV1ContainerId } from '../../status/container-state.js';
import { type StartFailures } from '../../status/start-failures.js';
import { type Clock, SystemClock } from '#base/time/clock.js';
import { hasCode, messageOf, PodloopError } from '#base/errors/errors.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { withinTime } from '#base/async/within-time.js';
import {
  type PodSyncer,
  type SyncPodResult,
  type SyncPodWork,
  type TerminatedPodWork,
  type TerminatingPodWork,
  type TerminatingRuntimePodWork,
} from '../workers/pod-syncer.js';

import { hookHostOf } from '../hooks/hook-host.js';
import { isRunning } from '../loop/housekeeping-owner.js';
import { ContainerKiller } from '../containers/kill-container.js';
import { killPod } from './kill-pod.js';
import { LifecycleHooks } from '../hooks/lifecycle-hook.js';
import { isNothingToDo } from '../actions/compute-actions.js';
import { describeActions } from '../actions/describe-actions.js';
import { type PodActions } from '../actions/pod-actions.js';
import { hasBegun } from '../../status/all-containers-restart.js';
import { mayBeAlive } from '../../status/pod-containers.js';
import { readLastRestartCount } from './pod-file-setup.js';
import { PodFolders } from './pod-folders.js';
import { PodReader } from './pod-reader.js';
import { type ContainerResizes } from '../containers/container-resizes.js';
import { PodRecreation } from './recreate-pod.js';
import { type ObservedReset, resetPod } from './reset-pod.js';
import { findReplaced, type ReplacedParts } from '../actions/replaced-parts.js';
import { RemovedEphemeralContainers } from '../actions/removed-ephemeral-containers.js';
import { ContainerResizer } from '../containers/resize-containers.js';
import { ContainerStarter } from '../containers/start-container.js';
import { SandboxStarter } from './start-sandbox.js';
import { formatFailures, toSyncError } from './sync-failure.js';
import { rememberStartFailures, toSyncResult } from './sync-outcome.js';
import { SettledPods } from '../loop/settled-pods.js';
import { applyPodActions } from './sync-pod-actions.js';
import { type PodPlanner } from './sync-pod-planner.js';
import {
  type ContainerBaselines,
  type ContainerEnvironments,
  type NetworkProblem,
  type PodCgroupParents,
  type PodLimits,
  type PodProbes,
  type PodReferents,
  type PodStatuses,
  type PodUsers,
  type UpdatedStatus,
  type VolumeMounts,
} from './sync-pod-ports.js';
import { UnheededStopSignals } from '../containers/unheeded-stop-signals.js';

/** Options of {@link SyncPod}. */
export interface SyncPodOptions extends Publisher {
  readonly changes: RuntimeChanges;
  /** Runs the commands of hooks; the output of a failed one is reported. */
  readonly commands: Pick<RuntimeChanges, 'execSync'>;
  /** Reads whether ended containers are gone, and where hooks reach a pod. */
  readonly runtime: Pick<Runtime, 'findPod' | 'getPodStatus'>;
  readonly images: Pick<ImageManager, 'ensureImage' | 'lookAhead'>;
  readonly volumes: VolumeMounts;
  readonly environments: ContainerEnvironments;
  /** Without them, pods refer to nothing that has to be fetched. */
  readonly referents?: PodReferents | undefined;
  readonly probes: PodProbes;
  readonly statuses: PodStatuses;
  /** Why containers wait; read when statuses are computed. */
  readonly startFailures: Pick<StartFailures, 'record' | 'clear' | 'find' | 'forget'>;
  readonly planner: Pick<
    PodPlanner,
    'plan' | 'observeSame' | 'isOutdated' | 'findContainersToReset' | 'forget'
  >;
  readonly baselines: ContainerBaselines;
  /**
   * The same as the planner's and the statuses'. Without it, a reverted edit may count as the end of a pod.
   */
  readonly replaced?: Pick<ReplacedParts, 'takeUp' | 'keep' | 'forget'> | undefined;
  readonly networkProblem: NetworkProblem;
  /** Without them, the runtime decides where pods go. */
  readonly cgroups?: PodCgroupParents | undefined;
  /** Without them, no pod has users of its own. */
  readonly users?: PodUsers | undefined;
  /** Without them, whole pods have no limits. */
  readonly podLimits?: PodLimits | undefined;
  /** Without them, the limits of running containers do not change. */
  readonly resizes?: Pick<ContainerResizes, 'applied' | 'refused' | 'forget'> | undefined;
  /** Bytes of memory that a container uses; undefined when unknown. */
  readonly memoryUsage?:
    ((pod: PodRef, containerId: string, signal: AbortSignal) => Promise<bigint | undefined>) | undefined;
  readonly events: PodEventRecorder;
  readonly paths: PodPaths;
  /** Read for each sandbox and container, as a node's facts change. */
  readonly node: () => NodeFacts;
  /** How long a sync without changes stays valid; see {@link SettledPods}. */
  readonly settledForMs?: number;
  readonly containerLogLinksDir?: string | undefined;
  /** The runtime's name for itself, the prefix of container ids in log lines. */
  readonly runtimeName?: string;
  readonly clock?: Clock;
  readonly logger?: Logger;
}

/** Limit for the status of a pod while its end goes on, or is tried again soon, in milliseconds. */
const SHOW_LIMIT_MS = 5_000;

/** The pod syncer of a node; {@link PodSyncer} documents each method. */
export class SyncPod implements PodSyncer {
  readonly #options: SyncPodOptions;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #formatId: (containerId: string) => string;
  readonly #reader: PodReader;
  readonly #killer: ContainerKiller;
  readonly #sandboxes: SandboxStarter;
  readonly #containers: ContainerStarter;
  readonly #recreation: PodRecreation;
  readonly #resizer: ContainerResizer | undefined;
  readonly #removed: RemovedEphemeralContainers;
  readonly #signals: UnheededStopSignals;
  readonly #folders: PodFolders;
  readonly #settled: SettledPods;

  constructor(options: SyncPodOptions) {
    const { changes, commands, events, images, volumes, environments, paths, node, cgroups, users } = options;
    const { containerLogLinksDir, runtimeName, referents, channels } = options;
    const formatId = (id: string): string =>
      runtimeName === undefined ? id : toV1ContainerId(runtimeName, id);
    const clock = options.clock ?? new SystemClock();
    const logger = options.logger ?? SILENT_LOGGER;
    const findHost = async ({ uid }: PodRef, signal: AbortSignal): Promise<string> =>
      hookHostOf(await this.#reader.read(uid, signal));
    const hooks = new LifecycleHooks({ changes: commands, channels, clock, findHost });
    this.#options = options;
    this.#clock = clock;
    this.#reader = new PodReader({ runtime: options.runtime, clock });
    this.#logger = logger;
    this.#killer = new ContainerKiller({ changes, hooks, events, clock, logger, formatId });
    this.#formatId = formatId;
    this.#sandboxes = new SandboxStarter({
      channels,
      clock,
      changes,
      events,
      paths,
      node,
      cgroups,
      users,
      referents,
    });
    const common = { channels, changes, hooks, events, logger, paths, node };
    const killer = this.#killer;
    this.#containers = new ContainerStarter({
      ...{ ...common, images, volumes, environments, referents, killer, containerLogLinksDir },
    });
    this.#removed = new RemovedEphemeralContainers({ events });
    this.#signals = new UnheededStopSignals({ events });
    this.#folders = new PodFolders({ paths, clock });
    this.#settled = new SettledPods({ clock, countsForMs: options.settledForMs });
    const { planner, statuses, startFailures, resizes, memoryUsage, replaced } = options;
    this.#resizer =
      resizes === undefined
        ? undefined
        : new ContainerResizer({
            ...{ changes, resizes, events, logger },
            memoryUsage: memoryUsage ?? (() => Promise.resolve(undefined)),
          });
    this.#recreation = new PodRecreation({
      ...{ planner, volumes, statuses, startFailures, replaced, events, logger },
      end: (pod, observed, signal) => this.#endFormer(pod, observed, signal),
    });
  }

  async syncPod({ pod, observed }: SyncPodWork, signal: AbortSignal): Promise<SyncPodResult> {
    const names = { pod: pod.metadata, podUID: pod.metadata.uid };
    this.#logger.info('SyncPod enter', names, 4);
    this.#settled.forget(pod.metadata.uid);
    const { statuses, probes, replaced } = this.#options;
    await replaced?.takeUp(pod.metadata.uid);
    // First, so that the status contains probe results of an earlier agent: what was ready stays ready.
    probes.addPod(pod);
    const updated = await statuses.update(pod, observed, 'syncing');
    const isTerminal = isTerminalPhase(updated.status.phase);
    try {
      if (isTerminal) return { isTerminal: true };
      this.#checkNetwork(pod);
      const cleared = await this.#recreation.clear(pod, observed, signal);
      // What was cleared ran before an edit, and asks for nothing any more.
      const { conditions } = updated.status;
      const reset =
        cleared === undefined ? await this.#reset(pod, { observed, conditions }, signal) : undefined;
      const seen = reset ?? cleared ?? observed;
      const known = seen === observed ? updated : await statuses.update(pod, seen, 'syncing');
      // They may have been removed with what was cleared.
      const areFoldersFresh = cleared !== undefined || !this.#folders.areSeen(pod);
      if (areFoldersFresh) await this.#makeFolders(pod);
      await this.#options.referents?.fetchForVolumes(pod, signal);
      await this.#setUpVolumes(pod, seen, signal);
      const result = await this.#bringNearer(pod, seen, known, areFoldersFresh, signal);
      this.#settled.note(pod, observed, result);
      return result;
    } finally {
      this.#logger.info('SyncPod exit', { ...names, isTerminal }, 4);
    }
  }

  isSettled(pod: NodePod, observed: PodStatus): boolean {
    if (!this.#settled.has(pod, observed)) return false;
    // Reported in the pod's events each time.
    if (pod.spec.hostNetwork !== true && this.#options.networkProblem() !== undefined) return false;
    this.#options.planner.observeSame(pod.metadata.uid);
    return true;
  }

  async syncTerminatingPod(work: TerminatingPodWork, signal: AbortSignal): Promise<void> {
    const { pod, observed, gracePeriodSeconds, statusOverride, isPartial } = work;
    const { statuses, probes } = this.#options;
    const { metadata, spec } = pod;
    await statuses.update(pod, observed, 'terminating', statusOverride);
    probes.stopLivenessAndStartup(pod);
    const kill = { pod: metadata, spec, observed, graceSeconds: gracePeriodSeconds };
    const show = this.#showing(pod, async (seen) => {
      await statuses.update(pod, seen, 'terminating', statusOverride);
    });
    await this.#kill(kill, signal, show);
    probes.removePod(pod);
    const seen = await this.#reader.readAtEnd(metadata.uid, signal, isPartial);
    await statuses.update(pod, seen, 'terminating', statusOverride);
    failIfAlive(seen);
  }

  async syncTerminatingRuntimePod(work: TerminatingRuntimePodWork, signal: AbortSignal): Promise<void> {
    const { runningPod, gracePeriodSeconds, isPartial = false } = work;
    const { uid, namespace, name } = runningPod;
    const observed = isPartial
      ? await this.#reader.readAtEnd(uid, signal, true)
      : await this.#options.runtime.getPodStatus(runningPod, signal);
    const kill = { pod: { uid, namespace, name }, spec: undefined, observed };
    await this.#kill({ ...kill, graceSeconds: gracePeriodSeconds }, signal);
    failIfAlive(await this.#reader.readAtEnd(uid, signal, isPartial));
  }

  async syncTerminatedPod(work: TerminatedPodWork, signal: AbortSignal): Promise<void> {
    const { pod, observed, statusOverride } = work;
    const { uid } = pod.metadata;
    const { statuses, probes, volumes, planner, startFailures } = this.#options;
    await statuses.update(pod, observed, 'terminated', statusOverride);
    probes.removePod(pod);
    await volumes.tearDown(pod, signal);
    const own = [this.#recreation, this.#removed, this.#folders, this.#settled];
    for (const memory of [statuses, planner, startFailures, ...own]) memory.forget(uid);
    this.#signals.forget(uid);
    this.#options.resizes?.forget(uid);
    this.#options.replaced?.forget(uid);
    this.#options.referents?.forget(uid);
  }

  async #endFormer(pod: NodePod, observed: PodStatus, signal: AbortSignal): Promise<PodStatus> {
    const { metadata, spec } = pod;
    const graceSeconds = spec.terminationGracePeriodSeconds;
    await this.#kill({ pod: metadata, spec, observed, graceSeconds }, signal, this.#showingSync(pod));
    const seen = await this.#reader.read(metadata.uid, signal);
    failIfAlive(seen);
    return seen;
  }

  /** See {@link resetPod}. */
  async #reset(pod: NodePod, known: ObservedReset, signal: AbortSignal): Promise<PodStatus | undefined> {
    const { planner, changes, startFailures, paths, containerLogLinksDir } = this.#options;
    const look = (uid: string, whole: AbortSignal): Promise<PodStatus> => this.#reader.read(uid, whole);
    const given = { planner, changes, startFailures, paths, containerLogLinksDir };
    const own = { killer: this.#killer, logger: this.#logger, formatId: this.#formatId };
    return await resetPod(pod, known, { ...given, look, ...own }, signal);
  }

  #checkNetwork(pod: NodePod): void {
    if (pod.spec.hostNetwork === true) return;
    const problem = this.#options.networkProblem();
    if (problem === undefined) return;
    const message = `network is not ready: ${problem}`;
    this.#options.events.record(pod.metadata, { type: 'Warning', reason: 'NetworkNotReady', message });
    throw new PodloopError('NETWORK_NOT_READY', message);
  }

  async #makeFolders(pod: NodePod): Promise<void> {
    const { events } = this.#options;
    try {
      await this.#folders.make(pod);
    } catch (error) {
      const message = `error making pod data directories: ${messageOf(error)}`;
      events.record(pod.metadata, { type: 'Warning', reason: 'FailedToMakePodDataDirectories', message });
      throw new PodloopError('POD_SYNC_FAILED', message, { cause: error });
    }
  }

  async #setUpVolumes(pod: NodePod, observed: PodStatus, signal: AbortSignal): Promise<void> {
    try {
      await this.#options.volumes.setUp(pod, signal, {
        isRunning: isRunning(observed) || observed.containers.some(mayBeAlive),
      });
    } catch (error) {
      if (hasCode(error, 'VOLUME_UNSUPPORTED')) await this.#recordUnsupported(pod, observed, error);
      throw error;
    }
  }

  /** The pod will hardly ever start, and its status has to say so as well. */
  async #recordUnsupported(pod: NodePod, observed: PodStatus, error: unknown): Promise<void> {
    const { startFailures, statuses } = this.#options;
    const { initContainers = [], containers } = pod.spec;
    const waiting = { reason: 'UnsupportedVolume', message: messageOf(error) };
    for (const { name } of [...initContainers, ...containers]) {
      startFailures.record(pod.metadata.uid, name, waiting);
    }
    await statuses.update(pod, observed, 'syncing');
  }

  async #bringNearer(
    pod: NodePod,
    observed: PodStatus,
    { status, checkAgainInMs }: UpdatedStatus,
    areFoldersFresh: boolean,
    signal: AbortSignal,
  ): Promise<SyncPodResult> {
    const { baselines, events, startFailures, statuses } = this.#options;
    this.#removed.look(pod, observed);
    this.#signals.look(pod, observed);
    const actions = await this.#computeActions(pod, observed, hasBegun(status.conditions));
    // They were checked a while ago, and something has to be put into them.
    if (!areFoldersFresh && !isNothingToDo(actions)) await this.#makeFolders(pod);
    if (actions.baselinesToKeep.length > 0) await baselines.keep(pod, actions.baselinesToKeep);
    const sandbox = observed.sandboxes.find(({ id }) => id === actions.sandboxId);
    const { podLimits, replaced } = this.#options;
    if (sandbox !== undefined) await podLimits?.grow(pod, sandbox);
    await replaced?.keep(pod.metadata.uid, findReplaced(pod, observed, actions), observed);
    const applied = await applyPodActions(
      { pod, observed, actions, startTime: status.startTime },
      {
        changes: this.#options.changes,
        killer: this.#killer,
        sandboxes: this.#sandboxes,
        containers: this.#containers,
        resizer: this.#resizer,
        ...{ showEnded: this.#showingSync(pod), clock: this.#clock },
        ...{ channels: this.#options.channels, events, logger: this.#logger, formatId: this.#formatId },
      },
      signal,
    );
    const isResized = actions.containersToResize.length > 0;
    if (rememberStartFailures(pod.metadata.uid, applied, startFailures) || isResized) {
      // Nothing may happen to the pod for minutes, so its status has to say now why it waits.
      await statuses.update(pod, observed, 'syncing');
    }
    if (sandbox !== undefined && applied.failures.length === 0) await podLimits?.settle(pod, sandbox);
    const result = toSyncResult(applied.failures, [actions.requeueAfterMs, checkAgainInMs]);
    if (applied.failures.length > 0) {
      const names = { pod: pod.metadata, podUID: pod.metadata.uid };
      this.#logger.error('Error syncing pod, skipping', formatFailures(applied.failures), names);
    }
    return isNothingToDo(actions) ? { ...result, unchanged: true } : result;
  }

  async #computeActions(pod: NodePod, observed: PodStatus, isRestartingAll: boolean): Promise<PodActions> {
    const counts = new Map<string, number>();
    const { initContainers = [], containers, ephemeralContainers = [] } = pod.spec;
    for (const { name } of [...initContainers, ...containers, ...ephemeralContainers]) {
      if (observed.containers.some((container) => container.name === name)) continue;
      const count = await readLastRestartCount(this.#options.paths.containerLogDir(pod.metadata, name));
      if (count !== undefined) counts.set(name, count);
    }
    const findLastRestartCount = (name: string): number | undefined => counts.get(name);
    const actions = this.#options.planner.plan({ pod, observed, findLastRestartCount, isRestartingAll });
    if (this.#logger.enabled(4)) {
      this.#logger.info(
        'computePodActions got for pod',
        { podActions: describeActions(actions), pod: pod.metadata },
        4,
      );
    }
    return actions;
  }

  #showingSync(pod: NodePod): (signal: AbortSignal) => Promise<void> {
    return this.#showing(pod, async (seen) => {
      await this.#options.statuses.update(pod, seen, 'syncing');
    });
  }

  /**
   * Reads a pod and writes its status while parts of it are still ending; a failed read is repeated later.
   */
  #showing(
    { metadata }: NodePod,
    write: (seen: PodStatus) => Promise<void>,
  ): (signal: AbortSignal) => Promise<void> {
    return async (signal) => {
      const limits = { clock: this.#clock, limitMs: SHOW_LIMIT_MS, signal };
      try {
        await write(await withinTime(limits, (inTime) => this.#reader.read(metadata.uid, inTime)));
      } catch (error) {
        const names = { pod: metadata, podUID: metadata.uid };
        this.#logger.info('Status of a pod that ends cannot be read yet', { ...names, err: error }, 4);
      }
    };
  }

  async #kill(
    kill: Parameters<typeof killPod>[0],
    signal: AbortSignal,
    showEnded?: (signal: AbortSignal) => Promise<void>,
  ): Promise<void> {
    const { changes, events } = this.#options;
    const tools = { killer: this.#killer, changes, showEnded, clock: this.#clock };
    const failures = await killPod(kill, tools, signal);
    if (failures.length === 0) return;
    const message = `error killing pod: ${formatFailures(failures)}`;
    events.record(kill.pod, { type: 'Warning', reason: 'FailedKillPod', message });
    throw toSyncError(failures);
  }
}

function failIfAlive({ containers }: PodStatus): void {
  const alive = containers.filter(mayBeAlive);
  if (alive.length === 0) return;
  const names = alive.map(({ name, state }) => `{${name} ${state}}`).join(' ');
  throw new PodloopError(
    'POD_SYNC_FAILED',
    `detected running containers after a successful KillPod, CRI violation: [${names}]`,
  );
}
