import { type V1ContainerState, type V1ContainerStatus, type V1PodStatus } from '#kube/pod/v1-pod-status.js';
import { cutText } from '#base/text/cut-text.js';

/**
 * Limit for one message. An API server takes no object above about 1.5 MiB, and a pod has many containers.
 */
const MAX_BYTES = 32 * 1024;

/**
 * Cuts overlong messages in a status. Pure; returns the same object if there is nothing to cut.
 *
 * A runtime may write anything, and an API server that refused the status would never get news of the pod
 * again.
 */
export function cutMessages(status: V1PodStatus): V1PodStatus {
  const { initContainerStatuses, containerStatuses, ephemeralContainerStatuses } = status;
  const init = initContainerStatuses && cutEach(initContainerStatuses, cutContainer);
  const regular = cutEach(containerStatuses, cutContainer);
  const ephemeral = ephemeralContainerStatuses && cutEach(ephemeralContainerStatuses, cutContainer);
  const conditions = cutEach(status.conditions, cutMessage);
  const isSame =
    init === initContainerStatuses &&
    regular === containerStatuses &&
    ephemeral === ephemeralContainerStatuses &&
    conditions === status.conditions;
  const cut = cutMessage(status);
  if (isSame) return cut;
  return {
    ...cut,
    conditions,
    ...(init && { initContainerStatuses: init }),
    containerStatuses: regular,
    ...(ephemeral && { ephemeralContainerStatuses: ephemeral }),
  };
}

function cutContainer(container: V1ContainerStatus): V1ContainerStatus {
  const [state, lastState] = [cutState(container.state), cutState(container.lastState)];
  return state === container.state && lastState === container.lastState
    ? container
    : { ...container, state, lastState };
}

function cutState(state: V1ContainerState): V1ContainerState {
  const waiting = state.waiting && cutMessage(state.waiting);
  const terminated = state.terminated && cutMessage(state.terminated);
  if (waiting === state.waiting && terminated === state.terminated) return state;
  return { ...state, ...(waiting && { waiting }), ...(terminated && { terminated }) };
}

function cutMessage<T extends { readonly message?: string }>(thing: T): T {
  if (thing.message === undefined) return thing;
  const message = cutText(thing.message, MAX_BYTES);
  return message === thing.message ? thing : { ...thing, message };
}

/** Returns the same list if every element is unchanged. */
function cutEach<T>(all: readonly T[], cut: (each: T) => T): readonly T[] {
  const done = all.map(cut);
  return done.every((each, index) => each === all[index]) ? all : done;
}
