import {
  type Container,
  type ContainerEventResponse,
  ContainerEventType,
  ContainerState,
  ContainerStatus,
  type PodSandbox,
  PodSandboxState,
  PodSandboxStatus,
} from '../../watch/cri/generated/runtime/v1/cri.js';
import {
  containerAnnotations,
  containerLabels,
  type PodIdentity,
  sandboxAnnotations,
  sandboxLabels,
  toHexId,
} from './kubelet-metadata.js';
import { type MadeUpEvent, type SyntheticContainer, type SyntheticPod } from './synthetic-control.js';

/** What the messages need beside a pod's public face. */
export type PodFacts = SyntheticPod & PodIdentity;

const STATES = {
  created: ContainerState.CONTAINER_CREATED,
  running: ContainerState.CONTAINER_RUNNING,
  exited: ContainerState.CONTAINER_EXITED,
} as const;

const EVENT_TYPES = {
  created: ContainerEventType.CONTAINER_CREATED_EVENT,
  started: ContainerEventType.CONTAINER_STARTED_EVENT,
  stopped: ContainerEventType.CONTAINER_STOPPED_EVENT,
  deleted: ContainerEventType.CONTAINER_DELETED_EVENT,
} as const;

/** An item of ListContainers. */
export function toContainer(pod: PodFacts, container: SyntheticContainer): Container {
  const imageId = `sha256:${toHexId(pod.app)}`;
  return {
    id: container.id,
    podSandboxId: container.sandboxId,
    metadata: { name: container.name, attempt: container.attempt },
    image: imageSpec(pod, imageId),
    imageRef: imageId,
    state: STATES[container.state],
    createdAt: container.createdAtNs,
    labels: containerLabels(pod, container.name),
    annotations: containerAnnotations(container.name, container.attempt),
    imageId,
  };
}

/** An item of ListPodSandbox. */
export function toPodSandbox(pod: PodFacts): PodSandbox {
  return {
    id: pod.sandboxId,
    metadata: sandboxMetadata(pod),
    state: sandboxState(pod),
    createdAt: pod.createdAtNs,
    labels: sandboxLabels(pod),
    annotations: sandboxAnnotations(pod, pod.createdAtNs),
    runtimeHandler: '',
  };
}

/** The status in an answer of ContainerStatus. */
export function toContainerStatus(pod: PodFacts, container: SyntheticContainer): ContainerStatus {
  const imageId = `sha256:${toHexId(pod.app)}`;
  return ContainerStatus.fromPartial({
    id: container.id,
    metadata: { name: container.name, attempt: container.attempt },
    state: STATES[container.state],
    createdAt: container.createdAtNs,
    startedAt: container.startedAtNs,
    finishedAt: container.finishedAtNs,
    exitCode: container.exitCode,
    image: imageSpec(pod, imageId),
    imageRef: imageId,
    imageId,
    reason: container.reason,
    labels: containerLabels(pod, container.name),
    annotations: containerAnnotations(container.name, container.attempt),
    logPath: `/var/log/pods/${pod.namespace}_${pod.name}_${pod.uid}/${container.name}/${container.attempt}.log`,
  });
}

/** The status in an answer of PodSandboxStatus. */
export function toSandboxStatus(pod: PodFacts): PodSandboxStatus {
  const last = Number.parseInt(pod.sandboxId.slice(0, 4), 16);
  return PodSandboxStatus.fromPartial({
    id: pod.sandboxId,
    metadata: sandboxMetadata(pod),
    state: sandboxState(pod),
    createdAt: pod.createdAtNs,
    network: { ip: `10.88.${last >> 8}.${last & 255}`, additionalIps: [] },
    labels: sandboxLabels(pod),
    annotations: sandboxAnnotations(pod, pod.createdAtNs),
  });
}

/** A message of GetContainerEvents, with the statuses that containerd puts in. */
export function toEvent(
  type: MadeUpEvent['type'],
  containerId: string,
  createdAtNs: bigint,
  pod: PodFacts | undefined,
): ContainerEventResponse {
  return {
    containerId,
    containerEventType: EVENT_TYPES[type],
    createdAt: createdAtNs,
    podSandboxStatus: pod === undefined ? undefined : toSandboxStatus(pod),
    containersStatuses:
      pod === undefined ? [] : pod.containers.map((container) => toContainerStatus(pod, container)),
  };
}

function imageSpec(pod: PodFacts, imageId: string): Container['image'] {
  return {
    image: imageId,
    annotations: {},
    userSpecifiedImage: `registry.example.com/team/${pod.app}:v1.4.2`,
    runtimeHandler: '',
    imageRef: '',
  };
}

function sandboxMetadata(pod: PodFacts): PodSandbox['metadata'] {
  return { name: pod.name, uid: pod.uid, namespace: pod.namespace, attempt: 0 };
}

function sandboxState(pod: PodFacts): PodSandboxState {
  return pod.sandboxReady ? PodSandboxState.SANDBOX_READY : PodSandboxState.SANDBOX_NOTREADY;
}
