import {
  type PodConditionType,
  type PodPhase,
  toV1Time,
  type V1ContainerStatus,
  type V1PodCondition,
} from '#kube/pod/v1-pod-status.js';
import { type ContainerStatuses } from './compute-phase.js';
import { SANDBOX_CONDITIONS } from './sandbox-flaw.js';

interface Verdict {
  readonly isTrue: boolean;
  readonly reason?: string;
  readonly message?: string;
}

/** A resize that the node cannot grant now (`Deferred`) or ever (`Infeasible`). */
export interface PendingResize {
  readonly reason: string;
  readonly message: string;
}

/** The inputs of the conditions. */
export interface ConditionInputs {
  readonly phase: PodPhase;
  readonly statuses: ContainerStatuses;
  /** Why there is no sandbox with a network, in the condition's words; undefined when there is one. */
  readonly sandboxFlaw: string | undefined;
  /** Whether all containers are being restarted; undefined for a pod in which nothing can ask for that. */
  readonly restartAll?: 'started' | 'none' | undefined;
  /** Why the pod waits for the resources of its last edit. */
  readonly pendingResize?: PendingResize | undefined;
  /** Why the node ends the pod for the sake of others. */
  readonly disruption?: string | undefined;
  /** The previous conditions: while a status stays the same, so does the time of its last transition. */
  readonly previous: readonly V1PodCondition[];
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
}

/** All conditions of a pod, in a kubelet's order and with its reasons and messages. Pure. */
export function computeConditions(inputs: ConditionInputs): V1PodCondition[] {
  const { phase, statuses, pendingResize } = inputs;
  const containersReady = computeContainersReady(phase, statuses);
  const verdicts: readonly [PodConditionType, Verdict][] = [
    ['PodReadyToStartContainers', computeReadyToStart(inputs)],
    ['Initialized', computeInitialized(inputs)],
    // There are no readiness gates, as nobody could set their conditions.
    ['Ready', containersReady],
    ['ContainersReady', containersReady],
    ['PodScheduled', { isTrue: true }],
    ...restartAllOf(inputs),
    // Only present while it applies.
    ...(pendingResize === undefined
      ? []
      : [['PodResizePending', { isTrue: true, ...pendingResize }] satisfies [PodConditionType, Verdict]]),
    ...disruptionOf(inputs),
  ];
  return verdicts.map(([type, verdict]) => toCondition(type, verdict, inputs));
}

function restartAllOf({ phase, restartAll }: ConditionInputs): [PodConditionType, Verdict][] {
  if (restartAll === undefined) return [];
  const toVerdict = (): Verdict => {
    if (phase === 'Succeeded') return { isTrue: false, reason: 'PodCompleted' };
    if (phase === 'Failed') return { isTrue: false, reason: 'PodFailed' };
    if (restartAll === 'none') return { isTrue: false };
    const message = 'container exited with restart policy rule';
    return { isTrue: true, reason: 'RestartAllContainersStarted', message };
  };
  return [['AllContainersRestarting', toVerdict()]];
}

/** Stays once it is set: a pod has one end. */
function disruptionOf({ disruption, previous }: ConditionInputs): [PodConditionType, Verdict][] {
  const message = disruption ?? previous.find(({ type }) => type === 'DisruptionTarget')?.message;
  if (message === undefined) return [];
  return [['DisruptionTarget', { isTrue: true, reason: 'TerminationByKubelet', message }]];
}

function computeReadyToStart({ sandboxFlaw }: ConditionInputs): Verdict {
  if (sandboxFlaw === undefined) return { isTrue: true };
  return { isTrue: false, reason: 'PodSandboxNotReady', message: sandboxFlaw };
}

/** Why a pod had no sandbox when these conditions were computed; undefined when it had one. */
export function findSandboxCondition(conditions: readonly V1PodCondition[]): string | undefined {
  const found = conditions.find(({ type }) => type === 'PodReadyToStartContainers');
  if (found?.status === 'True') return undefined;
  // Agents before this version wrote no message.
  return found?.message ?? SANDBOX_CONDITIONS['not-ready'];
}

function computeContainersReady(phase: PodPhase, { sidecars, regular }: ContainerStatuses): Verdict {
  if (phase === 'Succeeded') return { isTrue: false, reason: 'PodCompleted' };
  if (phase === 'Failed') return { isTrue: false, reason: 'PodFailed' };
  const unready = [...sidecars, ...regular].filter(({ ready }) => !ready);
  if (unready.length === 0) return { isTrue: true };
  const message = `containers with unready status: ${listNames(unready)}`;
  return { isTrue: false, reason: 'ContainersNotReady', message };
}

function computeInitialized({ phase, statuses, restartAll, previous }: ConditionInputs): Verdict {
  const { init, sidecars, hasBegun } = statuses;
  if (phase === 'Succeeded') return { isTrue: true, reason: 'PodCompleted' };
  // Sidecars may be restarting by now.
  if (hasBegun) return { isTrue: true };
  const incomplete = [...init.filter(({ ready }) => !ready), ...sidecars.filter(({ started }) => !started)];
  if (incomplete.length === 0) return { isTrue: true };
  // Its init containers run once more, and it stays initialized.
  const wasInitialized = previous.some(({ type, status }) => type === 'Initialized' && status === 'True');
  if (restartAll !== undefined && wasInitialized) return { isTrue: true };
  const message = `containers with incomplete status: ${listNames(incomplete)}`;
  return { isTrue: false, reason: 'ContainersNotInitialized', message };
}

function toCondition(
  type: PodConditionType,
  { isTrue, reason, message }: Verdict,
  { previous, nowMs }: ConditionInputs,
): V1PodCondition {
  const status = isTrue ? 'True' : 'False';
  const before = previous.find((condition) => condition.type === type);
  const lastTransitionTime = before?.status === status ? before.lastTransitionTime : toV1Time(nowMs);
  return {
    type,
    status,
    lastProbeTime: null,
    lastTransitionTime,
    ...(reason === undefined ? {} : { reason }),
    ...(message === undefined ? {} : { message }),
  };
}

/** `[a b]`, as Go prints a list. */
function listNames(containers: readonly V1ContainerStatus[]): string {
  return `[${containers.map(({ name }) => name).join(' ')}]`;
}
