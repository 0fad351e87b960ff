import { type NodePod } from '#kube/pod/node-pod.js';
import { POD_FORBIDDEN } from '#kube/node/node-policy.js';
import { ENDED_BY_SHUTDOWN } from '#kube/node/shutdown-words.js';
import { isClusterPod } from '#kube/pod/static-pod.js';
import { isTerminalPhase, type V1ContainerStatus, type V1PodStatus } from '#kube/pod/v1-pod-status.js';
import { emptyPodStatus, type PodPaths, type PodStatus, TerminationMessages } from '#watch';
import { checkActiveDeadline } from '../../status/active-deadline.js';
import { ActiveTimes } from '../../status/active-times.js';
import { mayBeAlive } from '../../status/pod-containers.js';
import { type ProbeStates } from '../../status/compute-container-statuses.js';
import { type PendingResize } from '../../status/compute-conditions.js';
import { computeGatedStatus } from '../../status/gated-status.js';
import { computePodStatus, type NodeFacts, type PodEnd } from '../../status/compute-pod-status.js';
import { type EndedPods } from '../../status/ended-pods.js';
import { type StartFailures } from '../../status/start-failures.js';
import { type StatusManager } from '../../status/status-manager.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';

import { type ResizeObstacle } from '../admission/admit-pod.js';
import { toRunDefinition } from '../loop/asks-for-new-run.js';
import { type ContainerResizes } from '../containers/container-resizes.js';
import { ContainerDefinitions } from '../actions/container-definition.js';
import { type ReplacedParts } from '../actions/replaced-parts.js';
import { type PodStatuses, type StatusStage, type UpdatedStatus } from './sync-pod-ports.js';

/** Options of {@link PodStatusUpdater}. */
export interface PodStatusUpdaterOptions {
  readonly manager: Pick<StatusManager, 'find' | 'setPodStatus' | 'terminatePod' | 'restore' | 'forget'>;
  /** Where ends of pods are stored so that they survive restarts of the agent (default: nowhere). */
  readonly endedPods?: Pick<EndedPods, 'find' | 'keep' | 'settled'>;
  readonly startFailures: Pick<StartFailures, 'find'>;
  readonly probes: ProbeStates;
  readonly paths: PodPaths;
  readonly logger?: Logger | undefined;
  /** Read each time, as the addresses of a node change. */
  readonly node: () => NodeFacts;
  readonly clock: Clock;
  /** podloop's hash of a container of another agent, at adoption. */
  readonly findBaseline?: ((containerId: string) => string | undefined) | undefined;
  /** Whether something was ended to be replaced (default: nothing was). */
  readonly replaced?: Pick<ReplacedParts, 'has'> | undefined;
  /** The actual limits of running containers (default: those that the runtime showed). */
  readonly resizes?: Pick<ContainerResizes, 'actualOf'> | undefined;
  /** Whether the runtime supports recursive read-only mounts for a pod (default: it does not). */
  readonly canMountRecursivelyReadOnly?: ((pod: NodePod) => boolean) | undefined;
  /** Why a pod does not have the resources of its last edit (default: every pod has them). */
  readonly findHeldResize?: ((podUid: string) => ResizeObstacle | undefined) | undefined;
}

/** Computes the status of a pod from all its inputs, including its deadline, and passes it to the manager. */
export class PodStatusUpdater implements PodStatuses {
  readonly #options: PodStatusUpdaterOptions;
  readonly #messages: TerminationMessages;
  readonly #activeTimes: ActiveTimes;

  constructor(options: PodStatusUpdaterOptions) {
    this.#options = options;
    this.#messages = new TerminationMessages({ paths: options.paths });
    this.#activeTimes = new ActiveTimes({ clock: options.clock });
  }

  async update(pod: NodePod, observed: PodStatus, stage: StatusStage, end?: PodEnd): Promise<UpdatedStatus> {
    const { manager, clock, logger = SILENT_LOGGER } = this.#options;
    const { uid, namespace, name } = pod.metadata;
    const names = { pod: { uid, namespace, name }, podUID: uid };
    logger.info('Generating pod status', { ...names, podIsTerminal: stage === 'terminated' }, 4);
    await this.#takeUpEnd(pod);
    await this.#messages.observe(observed);
    const stamp = clock.stamp();
    const oldPhase = manager.find(uid)?.status.phase;
    let status = this.#compute(pod, observed, stage, end);
    let checkAgainInMs: number | undefined;
    if (stage === 'syncing' && end === undefined && !isTerminalPhase(status.phase)) {
      const check = checkActiveDeadline(pod.spec.activeDeadlineSeconds, this.#activeForMs(pod, status));
      if (check.exceeded) status = this.#compute(pod, observed, stage, check.end);
      else checkAgainInMs = check.checkAgainInMs;
    }
    logger.info('Got phase for pod', { ...names, oldPhase: oldPhase ?? 'Pending', phase: status.phase }, 4);
    // On disk before anybody sees it or acts on it.
    if (stage === 'syncing' || end !== undefined) await this.#keepEnd(pod, status, stage);
    manager.setPodStatus(pod, status, stamp);
    if (stage === 'terminated') {
      manager.terminatePod(pod);
      await this.#completeEnd(pod);
    }
    // The manager's version is the valid one: a terminal state stays.
    return { status: manager.find(pod.metadata.uid)?.status ?? status, checkAgainInMs };
  }

  /**
   * Reports what a pod that has not started waits for. Synchronous, so that nothing comes in between.
   *
   * A pod that has ended according to the runtime is left to its first sync, which stores its end.
   */
  showWaiting(pod: NodePod, observed: PodStatus, message: string): void {
    const { manager, clock } = this.#options;
    const { uid } = pod.metadata;
    if (manager.find(uid) === undefined) this.#activeTimes.forget(uid);
    const stamp = clock.stamp();
    const status = this.#compute(pod, observed, 'syncing', undefined, message);
    if (!isTerminalPhase(status.phase)) manager.setPodStatus(pod, status, stamp);
  }

  /** Reports that a pod waits for its scheduling gates. Synchronous, so that nothing comes in between. */
  showGated(pod: NodePod): void {
    const { manager, clock } = this.#options;
    const { uid } = pod.metadata;
    this.#activeTimes.forget(uid);
    const stamp = clock.stamp();
    const before = manager.find(uid)?.status.conditions ?? [];
    manager.setPodStatus(pod, computeGatedStatus(pod, before, clock.now()), stamp);
  }

  /**
   * Milliseconds until the pod's deadline by its stored status, 0 when it has passed.
   *
   * Undefined for a pod without a deadline or a stored status.
   */
  findDeadlineMs(pod: NodePod): number | undefined {
    const { activeDeadlineSeconds } = pod.spec;
    const status = this.#options.manager.find(pod.metadata.uid)?.status;
    if (activeDeadlineSeconds === undefined || status === undefined) return undefined;
    const check = checkActiveDeadline(activeDeadlineSeconds, this.#activeForMs(pod, status));
    return check.exceeded ? 0 : check.checkAgainInMs;
  }

  /** Whether the pod's deadline has passed; see {@link PodStatusUpdater.findDeadlineMs}. */
  isPastDeadline(pod: NodePod): boolean {
    return this.findDeadlineMs(pod) === 0;
  }

  /** Reports why a pod may not run here. Synchronous, so that a later admission is reported after it. */
  showRejection(pod: NodePod, end: PodEnd): void {
    const { manager, clock } = this.#options;
    const { uid } = pod.metadata;
    this.#restoreEnd(pod);
    const stamp = clock.stamp();
    const isNew = manager.find(uid) === undefined;
    const status = this.#compute(pod, emptyPodStatus(uid), 'terminated', end);
    manager.setPodStatus(pod, isNew ? withoutContainers(status) : status, stamp);
    manager.terminatePod(pod);
    void this.#completeEnd(pod);
  }

  forget(podUid: string): void {
    this.#messages.forget(podUid);
    this.#activeTimes.forget(podUid);
  }

  renew(podUid: string): void {
    this.forget(podUid);
    this.#options.manager.forget(podUid);
  }

  /** Takes over the end that an earlier agent stored. */
  async #takeUpEnd(pod: NodePod): Promise<void> {
    await this.#options.endedPods?.settled(pod.metadata.uid);
    this.#restoreEnd(pod);
  }

  #restoreEnd(pod: NodePod): void {
    const { manager, endedPods } = this.#options;
    const ended = endedPods?.find(pod.metadata.uid);
    if (ended !== undefined) manager.restore(pod, ended.status, ended.isFinished);
  }

  /**
   * Stores the end of a pod once it is decided.
   *
   * A pod that nobody wants any more has no such end: it runs when it is wanted again. The same holds for a
   * rejection and for the end of a forbidden pod, which is judged again, and for a pod of a manifest that ended
   * for a shutdown: it runs again after the boot.
   */
  async #keepEnd(pod: NodePod, status: V1PodStatus, stage: StatusStage): Promise<void> {
    const { endedPods } = this.#options;
    const { uid } = pod.metadata;
    if (stage === 'terminated' || !isTerminalPhase(status.phase) || status.reason === POD_FORBIDDEN) return;
    if (status.reason === ENDED_BY_SHUTDOWN.reason && !isClusterPod(pod)) return;
    if (endedPods === undefined || endedPods.find(uid) !== undefined) return;
    await endedPods.keep(uid, { definition: toRunDefinition(pod), status, isFinished: false });
  }

  /** Adds the last status to the stored end. */
  async #completeEnd({ metadata: { uid } }: NodePod): Promise<void> {
    const { endedPods, manager } = this.#options;
    const ended = endedPods?.find(uid);
    const last = manager.find(uid);
    if (endedPods === undefined || ended === undefined || ended.isFinished || last === undefined) return;
    await endedPods.keep(uid, { ...ended, status: last.status, isFinished: last.isFinished });
  }

  #activeForMs({ metadata }: NodePod, { startTime }: V1PodStatus): number {
    return startTime === undefined ? 0 : this.#activeTimes.activeForMs(metadata.uid, startTime);
  }

  #compute(
    pod: NodePod,
    observed: PodStatus,
    stage: StatusStage,
    end: PodEnd | undefined,
    waitsFor?: string,
  ): V1PodStatus {
    const { manager, startFailures, probes, node, clock, findBaseline, replaced, resizes, findHeldResize } =
      this.#options;
    const { uid } = pod.metadata;
    const isReplaced = (id: string): boolean => replaced?.has(uid, id) === true;
    const definitions = new ContainerDefinitions(pod, { findBaseline, isReplaced });
    // The end of a pod that was edited a moment before is reported by its former definition.
    const shown = stage === 'syncing' ? withoutFormer(observed, definitions) : observed;
    const containers = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
    const messages = this.#messages.of(uid);
    return computePodStatus({
      ...{ pod, probes, end, waitsFor },
      observed: shown,
      previous: withoutHidden(manager.find(uid)?.status, observed, shown),
      nowMs: clock.now(),
      node: node(),
      ...(resizes === undefined ? {} : { findLimits: (each) => resizes.actualOf(uid, each) }),
      canMountRecursivelyReadOnly: this.#options.canMountRecursivelyReadOnly?.(pod) === true,
      findStartFailure: (name) => startFailures.find(uid, name),
      findTerminationMessage: (id) => messages.get(id),
      isCurrent: (container) => {
        const wanted = containers.find(({ name }) => name === container.name);
        return wanted === undefined || definitions.isCurrent(container, wanted);
      },
      isEnding: stage !== 'syncing',
      pendingResize: toPendingResize(findHeldResize?.(uid)),
    });
  }
}

/** In the words of the condition: what may fit later is deferred. */
function toPendingResize(obstacle: ResizeObstacle | undefined): PendingResize | undefined {
  if (obstacle === undefined) return undefined;
  const { reason, message } = obstacle;
  return { reason: reason === 'Infeasible' ? reason : 'Deferred', message };
}

/** For a pod that the node never accepted: its containers have no history, and kubectl shows its reason. */
function withoutContainers(status: V1PodStatus): V1PodStatus {
  const { initContainerStatuses: _init, ephemeralContainerStatuses: _ephemeral, ...rest } = status;
  return { ...rest, containerStatuses: [] };
}

/** Hides dead remains of the pod from before the edit that recreated it; what is alive still counts. */
function withoutFormer(observed: PodStatus, definitions: ContainerDefinitions): PodStatus {
  const former = new Set(
    observed.sandboxes.filter((each) => definitions.isOutdated(each)).map(({ id }) => id),
  );
  if (former.size === 0) return observed;
  const containers = observed.containers.filter((each) => mayBeAlive(each) || !former.has(each.sandboxId));
  if (containers.some(({ sandboxId }) => former.has(sandboxId))) return { ...observed, containers };
  return { ...observed, containers, sandboxes: observed.sandboxes.filter(({ id }) => !former.has(id)) };
}

/** Removes containers from an earlier status that are now hidden: they belong to the former pod. */
function withoutHidden(
  status: V1PodStatus | undefined,
  observed: PodStatus,
  shown: PodStatus,
): V1PodStatus | undefined {
  if (status === undefined || shown.containers.length === observed.containers.length) return status;
  const hidden = new Set(observed.containers.map(({ id }) => id));
  for (const { id } of shown.containers) hidden.delete(id);
  const isShown = ({ containerID = '' }: V1ContainerStatus): boolean =>
    !hidden.has(containerID.slice(containerID.indexOf('://') + '://'.length));
  const { initContainerStatuses, containerStatuses, ephemeralContainerStatuses } = status;
  return {
    ...status,
    ...(initContainerStatuses && { initContainerStatuses: initContainerStatuses.filter(isShown) }),
    containerStatuses: containerStatuses.filter(isShown),
    ...(ephemeralContainerStatuses && {
      ephemeralContainerStatuses: ephemeralContainerStatuses.filter(isShown),
    }),
  };
}
