import { type PodPhase, type V1ContainerStatus } from '#kube/pod/v1-pod-status.js';
import { mayRestart, type RestartRule } from '#kube/container/restart-rule.js';

/** Returns the rule of a container of the spec by its name. */
export type FindRule = (containerName: string) => RestartRule;

/** The visible containers of a pod by kind, and their progress. */
export interface ContainerStatuses {
  readonly init: readonly V1ContainerStatus[];
  readonly sidecars: readonly V1ContainerStatus[];
  readonly regular: readonly V1ContainerStatus[];
  /** A regular container ran in the newest sandbox, so the init containers are through. */
  readonly hasBegun: boolean;
}

/**
 * The phase that follows from the states of the containers, by the kubelet's rules. Pure.
 *
 * `isEnding`: nothing restarts, so a pod whose containers have all ended is over under any policy.
 */
export function computePhase(
  { init, sidecars, regular, hasBegun }: ContainerStatuses,
  findRule: FindRule,
  isEnding: boolean,
): PodPhase {
  const isOver = (status: V1ContainerStatus): boolean => isEndedForGood(status, findRule);
  if (init.some((status) => (status.state.terminated?.exitCode ?? 0) !== 0 && isOver(status)))
    return 'Failed';
  const isInitializing = init.some(isUnderWay) || sidecars.some(isStarting);
  if (isInitializing && !hasBegun) return 'Pending';
  if (regular.some(isNew)) return 'Pending';
  if ([...regular, ...sidecars].some(({ state }) => state.running)) return 'Running';
  return computeEndedPhase(regular, isOver, isEnding);
}

/** For pods in which no container runs and each regular one has run. */
function computeEndedPhase(
  regular: readonly V1ContainerStatus[],
  isOver: (status: V1ContainerStatus) => boolean,
  isEnding: boolean,
): PodPhase {
  const succeeded = regular.every(({ state }) => state.terminated?.exitCode === 0);
  if (isEnding) return succeeded ? 'Succeeded' : 'Failed';
  if (!regular.every(isOver)) return 'Running';
  return succeeded ? 'Succeeded' : 'Failed';
}

/** Whether it has ended and does not restart. */
function isEndedForGood({ name, state: { terminated } }: V1ContainerStatus, findRule: FindRule): boolean {
  return terminated !== undefined && !mayRestart(findRule(name), terminated.exitCode);
}

/** It runs, or has never ended. A failed one that restarts blocks others, which shows on them. */
function isUnderWay({ state, lastState }: V1ContainerStatus): boolean {
  if (state.running !== undefined) return true;
  return state.terminated === undefined && lastState.terminated === undefined;
}

function isStarting(status: V1ContainerStatus): boolean {
  return isNew(status) || (status.state.running !== undefined && !status.started);
}

/** Has never run. */
function isNew({ state, lastState }: V1ContainerStatus): boolean {
  return state.waiting !== undefined && lastState.terminated === undefined;
}
