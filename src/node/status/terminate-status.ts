import { type PodSpec } from '#kube/pod/pod.js';
import { isTerminalPhase, type V1ContainerStatus, type V1PodStatus } from '#kube/pod/v1-pod-status.js';
import { computeConditions, findSandboxCondition } from './compute-conditions.js';
import { groupByKind } from './compute-pod-status.js';
import { lostEnd } from './container-state.js';
import { SANDBOX_CONDITIONS } from './sandbox-flaw.js';

const NOT_LOCATED = 'The container could not be located when the pod was terminated';

/**
 * The last status of an ended pod: no container waits or runs any more, and the phase is terminal. Pure.
 *
 * A container whose end nobody saw counts as failed, so that no pod is called a success by mistake. In a pod
 * that never got through its init containers the regular ones stay as they are, and so do init containers
 * whose turn never came.
 */
export function terminateStatus(spec: PodSpec, status: V1PodStatus, nowMs: number): V1PodStatus {
  const { initContainerStatuses = [], containerStatuses } = status;
  const begun = countBegun(initContainerStatuses);
  const init = initContainerStatuses.map((each, index) => (index < begun ? ended(each) : each));
  const regular = wasInitialized(status) ? containerStatuses.map(ended) : containerStatuses;
  const phase = isTerminalPhase(status.phase) ? status.phase : 'Failed';
  const statuses = groupByKind(spec, init, regular, wasInitialized(status));
  return {
    ...status,
    phase,
    conditions: computeConditions({
      phase,
      statuses,
      // The sandbox of an ended pod is stopped, whether or not anybody saw it.
      sandboxFlaw: findSandboxCondition(status.conditions) ?? SANDBOX_CONDITIONS['not-ready'],
      previous: status.conditions,
      nowMs,
    }),
    ...(initContainerStatuses.length === 0 ? {} : { initContainerStatuses: init }),
    containerStatuses: regular,
  };
}

function ended(status: V1ContainerStatus): V1ContainerStatus {
  if (status.state.terminated !== undefined) return { ...status, started: false };
  const terminated = { ...lostEnd(NOT_LOCATED), startedAt: status.state.running?.startedAt ?? null };
  return { ...status, ready: false, started: false, state: { terminated } };
}

function hasRun({ state, lastState }: V1ContainerStatus): boolean {
  return state.waiting === undefined || lastState.terminated !== undefined;
}

function wasInitialized({ initContainerStatuses = [], containerStatuses }: V1PodStatus): boolean {
  const last = initContainerStatuses.at(-1);
  if (last === undefined || containerStatuses.some(hasRun)) return true;
  return [last.state, last.lastState].some(({ terminated }) => terminated?.exitCode === 0);
}

/** All up to the last that ever ran, but at least the first. */
function countBegun(statuses: readonly V1ContainerStatus[]): number {
  return Math.max(Math.min(1, statuses.length), statuses.findLastIndex(hasRun) + 1);
}
