import { type Container } from '#kube/container/container.js';
import {
  type V1ContainerState,
  type V1ContainerStatus,
  type V1ContainerTerminated,
  type V1ContainerUser,
  type V1ContainerWaiting,
} from '#kube/pod/v1-pod-status.js';
import { type ContainerLimits, type ContainerStatus, type ContainerUser } from '#watch';
import { REMOVED_FOR_RESTART } from './all-containers-restart.js';
import {
  type ContainerStateContext,
  lostEnd,
  toV1ContainerId,
  toV1ContainerState,
} from './container-state.js';
import { computeStatusResources } from './container-status-resources.js';
import { hasRun, mayBeAlive, type PodContainers } from './pod-containers.js';
import {
  type ContainerKind,
  mayRestart,
  mayRestartFailed,
  type RestartRule,
} from '#kube/container/restart-rule.js';
import { computeVolumeMountStatuses } from './volume-mount-statuses.js';

const USED_TO_RUN = 'The container could not be located when the pod was synced. It used to be running.';

/** The findings of probes, by container id; undefined while there are none. */
export interface ProbeStates {
  readiness(containerId: string): boolean | undefined;
  started(containerId: string): boolean | undefined;
  /** Why a probe made the agent end the container (default: none did). */
  failure?(containerId: string): unknown;
}

/** The inputs of containers' statuses. */
export interface ContainerStatusInputs extends ContainerStateContext {
  readonly containers: PodContainers;
  readonly rule: RestartRule;
  readonly probes: ProbeStates;
  /** The pod is ending: nothing restarts. */
  readonly isEnding: boolean;
  /** Why the last start of a container failed, or when the next one is due. */
  readonly findStartFailure: (containerName: string) => V1ContainerWaiting | undefined;
  /** Whether a container was created from the present definition; others have yet to run. */
  readonly isCurrent: (container: ContainerStatus) => boolean;
  /**
   * While there is no container: PodInitializing in pods with init containers, otherwise ContainerCreating.
   */
  readonly waitingReason: string;
  /** For an init container that no longer exists: others came after it, so it completed. */
  readonly isBehind: boolean;
  /**
   * For an init container that is not in the present sandbox, nor any after it: it will run there from the
   * beginning.
   */
  readonly isAhead: boolean;
  /** All containers of the pod are removed and start again. */
  readonly isRestartingAll?: boolean;
  readonly previous: V1ContainerStatus | undefined;
  /** The actual limits of a running container, as far as they are known. */
  readonly findLimits?: ((container: ContainerStatus) => ContainerLimits | undefined) | undefined;
  /** Whether the runtime supports recursive read-only mounts for the pod. */
  readonly canMountRecursivelyReadOnly: boolean;
}

/** The status of one container of the spec. Pure. */
export function computeContainerStatus(
  container: Container,
  inputs: ContainerStatusInputs,
): V1ContainerStatus {
  const { kind } = inputs.rule;
  const { all } = inputs.containers.of(container.name);
  const newest = all.find(mayBeAlive) ?? all[0];
  const basis =
    newest === undefined
      ? withoutContainer(kind, container, inputs)
      : ofContainer(container, newest, all, inputs);
  const shown = withStartFailure(kind, container, newest, basis, inputs);
  const started = newest !== undefined && hasStarted(kind, container, newest, shown, inputs);
  const actual = newest?.state === 'running' ? inputs.findLimits?.(newest) : undefined;
  return {
    ...shown,
    // Like a kubelet: for whatever container the runtime has, and no other.
    ...(newest && computeStatusResources(container, actual)),
    ...computeVolumeMountStatuses(container, inputs.canMountRecursivelyReadOnly),
    started,
    ready: isReady(kind, container, newest, shown, started, inputs),
  };
}

function ofContainer(
  { name, image }: Container,
  newest: ContainerStatus,
  all: readonly ContainerStatus[],
  inputs: ContainerStatusInputs,
): V1ContainerStatus {
  const { runtimeName, previous } = inputs;
  const before = all.find((other) => other !== newest && hasRun(other) && !mayBeAlive(other));
  const containerID = toV1ContainerId(runtimeName, newest.id);
  if (newest.isListedOnly === true && previous?.containerID === containerID) {
    return { ...previous, state: listedState(newest, previous, inputs), ready: false, started: false };
  }
  return {
    name,
    state: toV1ContainerState(newest, inputs),
    lastState: before === undefined ? lastStateOf(previous, containerID) : toV1ContainerState(before, inputs),
    ready: false,
    restartCount: newest.restartCount,
    image: newest.image === '' ? image : newest.image,
    imageID: newest.imageRef,
    containerID,
    started: false,
    ...(newest.user === undefined ? {} : { user: toV1User(newest.user) }),
  };
}

/**
 * The state of a container whose status is no longer available: from an earlier status, as far as that still
 * applies.
 */
function listedState(
  container: ContainerStatus,
  { state, lastState, containerID }: V1ContainerStatus,
  context: ContainerStateContext,
): V1ContainerState {
  const ended = [state, lastState].find(({ terminated }) => terminated?.containerID === containerID);
  if (container.state === 'exited' && ended !== undefined) return ended;
  return container.state === 'running' && state.running !== undefined
    ? state
    : toV1ContainerState(container, context);
}

function toV1User({ uid, gid, supplementalGroups }: ContainerUser): V1ContainerUser {
  return { linux: { uid, gid, ...(supplementalGroups.length === 0 ? {} : { supplementalGroups }) } };
}

/** The previous container's state from an earlier status, once the runtime has lost it. */
function lastStateOf(previous: V1ContainerStatus | undefined, containerID: string): V1ContainerState {
  if (previous === undefined) return {};
  if (previous.containerID === containerID || previous.state.terminated === undefined) {
    return previous.lastState;
  }
  return { terminated: previous.state.terminated };
}

function withoutContainer(
  kind: ContainerKind,
  { name, image }: Container,
  { previous, waitingReason, rule, isBehind, isAhead, isEnding, isRestartingAll }: ContainerStatusInputs,
): V1ContainerStatus {
  const basis: V1ContainerStatus = {
    name,
    state: { waiting: { reason: waitingReason } },
    lastState: previous?.lastState ?? {},
    ready: false,
    restartCount: previous?.restartCount ?? 0,
    image,
    imageID: '',
    started: false,
  };
  const isRemoved = isRestartingAll === true && kind !== 'ephemeral' && previous?.state.waiting === undefined;
  if (isRemoved && previous !== undefined) {
    const { waiting, terminated } = REMOVED_FOR_RESTART;
    return {
      ...{ ...basis, state: { waiting }, lastState: { terminated } },
      restartCount: previous.restartCount + 1,
    };
  }
  if (previous?.state.terminated !== undefined) return { ...previous, ready: false, started: false };
  const isThrough = kind === 'init' && isBehind;
  // Containers that came after it in an earlier sandbox say nothing about a run in this one.
  if (previous?.state.running !== undefined && (isAhead || !isThrough)) {
    const terminated = { ...lostEnd(USED_TO_RUN), startedAt: previous.state.running.startedAt };
    // In a pod that restarts nothing it is over; otherwise the next one is awaited.
    const isOver = isEnding || !mayRestartFailed(rule);
    return isOver ? { ...previous, state: { terminated } } : { ...basis, lastState: { terminated } };
  }
  if (!isThrough) return basis;
  const completed: V1ContainerTerminated = {
    exitCode: 0,
    reason: 'Completed',
    startedAt: null,
    finishedAt: null,
  };
  return { ...basis, state: { terminated: completed } };
}

/** Shows a container that is about to restart as waiting, with the reason of its last failed start. */
function withStartFailure(
  kind: ContainerKind,
  { name }: Container,
  newest: ContainerStatus | undefined,
  status: V1ContainerStatus,
  inputs: ContainerStatusInputs,
): V1ContainerStatus {
  if (inputs.isEnding) return status;
  const { terminated } = status.state;
  const isEdited = newest !== undefined && !mayBeAlive(newest) && !inputs.isCurrent(newest);
  if (!isEdited && !isToBeStarted(kind, newest, terminated, inputs)) return status;
  // Its exit code 0 is not its own doing.
  const isEndedByProbe = terminated?.exitCode === 0 && hasFailedProbe(newest, inputs);
  const waiting =
    inputs.findStartFailure(name) ??
    (isEdited || isEndedByProbe ? { reason: 'ContainerCreating' } : undefined);
  // Without a reason it starts in a moment: until then its last end says more.
  if (waiting === undefined) return status;
  return { ...status, state: { waiting }, lastState: terminated ? { terminated } : status.lastState };
}

function isToBeStarted(
  kind: ContainerKind,
  newest: ContainerStatus | undefined,
  terminated: V1ContainerTerminated | undefined,
  inputs: ContainerStatusInputs,
): boolean {
  const { rule, isAhead } = inputs;
  if (newest?.state === 'running') return false;
  if (kind === 'init' && isAhead) return true;
  if (newest?.state === 'unknown') return mayRestartFailed(rule);
  if (terminated === undefined) return true;
  if (hasFailedProbe(newest, inputs) && mayRestartFailed(rule)) return true;
  return mayRestart(rule, terminated.exitCode);
}

function hasFailedProbe(newest: ContainerStatus | undefined, { probes }: ContainerStatusInputs): boolean {
  return newest !== undefined && probes.failure?.(newest.id) !== undefined;
}

function hasStarted(
  kind: ContainerKind,
  { startupProbe }: Container,
  newest: ContainerStatus,
  { state }: V1ContainerStatus,
  { probes }: ContainerStatusInputs,
): boolean {
  if (state.running === undefined) return false;
  return kind === 'init' || startupProbe === undefined || probes.started(newest.id) === true;
}

function isReady(
  kind: ContainerKind,
  { readinessProbe }: Container,
  newest: ContainerStatus | undefined,
  { state }: V1ContainerStatus,
  started: boolean,
  { probes }: ContainerStatusInputs,
): boolean {
  if (kind === 'init') return state.terminated?.exitCode === 0;
  // Nothing waits for it.
  if (kind === 'ephemeral') return false;
  if (newest === undefined || !started) return false;
  return readinessProbe === undefined || probes.readiness(newest.id) === true;
}
