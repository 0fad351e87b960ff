import { type IsOurs, type ObservedContainer, type ObservedPod, type PodStatus } from '#watch';

/**
 * Whether this agent owns everything in the pod. False when nothing is visible, or when anything belongs to
 * another.
 */
export function isOwnPod(status: PodStatus, isOurs: IsOurs): boolean {
  const parts = [...status.sandboxes, ...status.containers];
  return parts.length > 0 && parts.every(({ labels }) => isOurs(labels, status.uid));
}

/** Whether any container or sandbox of the pod runs. */
export function isRunning({ sandboxes, containers }: PodStatus | ObservedPod): boolean {
  return [...sandboxes, ...containers].some(({ state }) => state === 'running');
}

/** The pod as a list would have shown it at the time of its status. */
export function toObservedPod(status: PodStatus): ObservedPod {
  const { uid, namespace, name, owner } = status;
  return {
    ...{ uid, namespace, name, owner },
    sandboxes: status.sandboxes.map((sandbox) =>
      toObserved('sandbox', { ...sandbox, sandboxId: sandbox.id }),
    ),
    containers: status.containers.map((container) => toObserved('container', container)),
  };
}

function toObserved(
  kind: ObservedContainer['kind'],
  { id, name, attempt, state, sandboxId, createdAtNs }: Omit<ObservedContainer, 'kind'>,
): ObservedContainer {
  return { kind, id, name, attempt, state, sandboxId, createdAtNs };
}
