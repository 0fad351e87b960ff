import { QUOTE_NOT_SHOWN } from '../runtime/quotes-secrets.js';
import { type ContainerStatus } from '#watch';
import { toV1Time, type V1ContainerState, type V1ContainerTerminated } from '#kube/pod/v1-pod-status.js';

/** The state of a container whose end nobody saw. */
const UNKNOWN_END = { exitCode: 137, reason: 'ContainerStatusUnknown' } as const;

/** What a container's state depends on besides its status. */
export interface ContainerStateContext {
  /** `containerd`: the prefix of ids. */
  readonly runtimeName: string;
  /** The container's termination message. */
  readonly findTerminationMessage: (containerId: string) => string | undefined;
  /** Whether the runtime's messages about the container may quote a Secret: then they are not passed on. */
  readonly quotesSecrets?: boolean;
  /** Whether it is known to have been running once. */
  readonly wasRunning: (containerId: string) => boolean;
}

/** The state of one container in Kubernetes' form. */
export function toV1ContainerState(
  container: ContainerStatus,
  context: ContainerStateContext,
): V1ContainerState {
  switch (container.state) {
    case 'created':
      return { waiting: { reason: 'ContainerCreating' } };
    case 'running':
      return { running: { startedAt: toV1TimeOfNs(container.startedAtNs) ?? toV1Time(0) } };
    case 'exited':
      return { terminated: toTerminated(container, context) };
    case 'unknown':
      // A container that never ran may still run; one that did must not count as new.
      return container.startedAtNs > 0n || context.wasRunning(container.id)
        ? { terminated: unknownEnd(container, context) }
        : { waiting: { reason: 'ContainerCreating' } };
  }
}

/** `containerd://<id>`. */
export function toV1ContainerId(runtimeName: string, id: string): string {
  return `${runtimeName}://${id}`;
}

/** The state of a container that ran and no longer exists. */
export function lostEnd(message: string): V1ContainerTerminated {
  return { ...UNKNOWN_END, message, startedAt: null, finishedAt: null };
}

function unknownEnd(
  container: ContainerStatus,
  { runtimeName }: ContainerStateContext,
): V1ContainerTerminated {
  return {
    ...UNKNOWN_END,
    message: 'The runtime does not know what became of the container',
    startedAt: toV1TimeOfNs(container.startedAtNs),
    finishedAt: null,
    containerID: toV1ContainerId(runtimeName, container.id),
  };
}

function toTerminated(
  container: ContainerStatus,
  { runtimeName, findTerminationMessage, quotesSecrets = false }: ContainerStateContext,
): V1ContainerTerminated {
  const { id, exitCode, reason, startedAtNs, finishedAtNs } = container;
  const said = container.message !== '' && quotesSecrets ? QUOTE_NOT_SHOWN : container.message;
  const message = [said, findTerminationMessage(id) ?? ''].filter(Boolean).join(': ');
  return {
    exitCode,
    reason,
    ...(message === '' ? {} : { message }),
    startedAt: toV1TimeOfNs(startedAtNs),
    finishedAt: toV1TimeOfNs(finishedAtNs),
    containerID: toV1ContainerId(runtimeName, id),
  };
}

function toV1TimeOfNs(ns: bigint): string | null {
  return ns === 0n ? null : toV1Time(Number(ns / 1_000_000n));
}
