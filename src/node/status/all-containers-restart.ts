/**
 * The restart of all containers of a pod in its sandbox, which the end of one asks for by its rules
 * (`RestartAllContainers`). Pure.
 *
 * ```
 * one ends ─► AllContainersRestarting=True ─► those alive are stopped, all are removed, that one last ─► False
 *                                                                    └► init containers run from the first on
 * ```
 *
 * The condition is the one decision: what it says, the sync does. It stays until nothing is left, also if the container that
 * asked is removed or edited meanwhile. Without an earlier status the runtime shows how far it is: as long as the
 * container that asked is there, the rest has to go. So an agent that is killed on the way goes on, and none of it
 * happens twice.
 *
 * Source: https://github.com/kubernetes/enhancements/tree/master/keps/sig-node/5532-restart-all-containers-on-container-exits
 *
 * @module
 */
import { type Container } from '#kube/container/container.js';
import { asksToRestartAll } from '#kube/container/restart-rule.js';
import { type PodSpec } from '#kube/pod/pod.js';
import {
  type V1ContainerTerminated,
  type V1ContainerWaiting,
  type V1PodCondition,
} from '#kube/pod/v1-pod-status.js';
import { type ContainerStatus } from '#watch';
import { mayBeAlive, type PodContainers } from './pod-containers.js';

const REASON = 'RestartingAllContainers';
const MESSAGE = 'The container is removed because RestartAllContainers in place';

/** The state of a container that was removed, and what its last one then is, as a kubelet shows them. */
export const REMOVED_FOR_RESTART: {
  readonly waiting: V1ContainerWaiting;
  readonly terminated: V1ContainerTerminated;
} = {
  waiting: { reason: REASON, message: MESSAGE },
  terminated: { exitCode: 137, reason: REASON, message: MESSAGE, startedAt: null, finishedAt: null },
};

/** A container to stop, if it is alive, and to remove. */
export interface ContainerToReset {
  readonly container: Container;
  readonly status: ContainerStatus;
}

/** What decides whether an end counts. */
export interface RestartAllInputs {
  readonly spec: PodSpec;
  readonly containers: PodContainers;
  /** The end is the container's own: it has the present definition, and no probe ended it. */
  readonly isOwnEnd: (container: Container, status: ContainerStatus) => boolean;
}

/**
 * Every container to remove, in this order: regular ones, init containers and sidecars, and last those whose end asked for
 * the restart. None unless the condition of the pod's present status is True.
 */
export function findContainersToReset(
  inputs: Omit<RestartAllInputs, 'isOwnEnd'>,
  conditions: readonly V1PodCondition[],
): readonly ContainerToReset[] {
  if (!hasBegun(conditions)) return [];
  const members = membersOf(inputs.spec).flatMap((container) => {
    const source = findSource(container, inputs);
    return ownedOf(container, inputs).map((status) => ({ container, status, isSource: status === source }));
  });
  return [...members.filter(({ isSource }) => !isSource), ...members.filter(({ isSource }) => isSource)];
}

/** The containers whose end asks for the restart, as far as they are still there. */
export function findSources(inputs: RestartAllInputs): readonly ContainerToReset[] {
  return membersOf(inputs.spec).flatMap((container) => {
    const status = findSource(container, inputs);
    return status === undefined ? [] : { container, status };
  });
}

/** Whether nothing of the pod is left to remove, so that its containers may start. */
export function areAllRemoved(inputs: Omit<RestartAllInputs, 'isOwnEnd'>): boolean {
  return membersOf(inputs.spec).every((container) => ownedOf(container, inputs).length === 0);
}

/** Whether containers that are missing were removed for the restart: it is due, or was when the last status was computed. */
export function isRestartingAll(inputs: RestartAllInputs, previous: readonly V1PodCondition[]): boolean {
  return hasBegun(previous) || findSources(inputs).length > 0;
}

/** Whether these conditions say that all containers are being restarted. */
export function hasBegun(conditions: readonly V1PodCondition[]): boolean {
  return conditions.some(({ type, status }) => type === 'AllContainersRestarting' && status === 'True');
}

/** Regular containers first. */
function membersOf({ containers, initContainers = [] }: PodSpec): readonly Container[] {
  return [...containers, ...initContainers];
}

/** The newest container of a name, if its end asks for the restart. */
function findSource(
  container: Container,
  inputs: Omit<RestartAllInputs, 'isOwnEnd'> & Partial<RestartAllInputs>,
): ContainerStatus | undefined {
  const all = ownedOf(container, inputs);
  const [newest] = all;
  if (newest?.state !== 'exited' || all.some(mayBeAlive)) return undefined;
  const asks = asksToRestartAll(container, newest.exitCode) && inputs.isOwnEnd?.(container, newest) !== false;
  return asks ? newest : undefined;
}

/** The containers of a name that belong to the pod, newest first. */
function ownedOf(
  { name }: Container,
  { containers }: Pick<RestartAllInputs, 'containers'>,
): readonly ContainerStatus[] {
  return containers.of(name).all.filter((status) => containers.isOwned(status));
}
