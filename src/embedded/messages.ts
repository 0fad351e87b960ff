/**
 * Turns sandboxes and containers into the messages of CRI.
 *
 * @module
 */
import {
  type Container as ContainerMessage,
  ContainerStatus,
  NamespaceMode,
  type PodSandbox,
  type PodSandboxStatus,
} from '../cri/generated/runtime/v1/cri.js';
import { type Container } from './container.js';
import { type Sandbox } from './sandbox.js';

/** A sandbox as ListPodSandbox shows it. */
export function toPodSandbox(sandbox: Sandbox): PodSandbox {
  const { config, record, state, id } = sandbox;
  return {
    id,
    metadata: config.metadata,
    state,
    createdAt: record.createdAtNs,
    labels: config.labels,
    annotations: config.annotations,
    runtimeHandler: '',
  };
}

/** A sandbox as PodSandboxStatus shows it. The namespaces are those that it has, not those that were asked for. */
export function toPodSandboxStatus(sandbox: Sandbox): PodSandboxStatus {
  const { NODE } = NamespaceMode;
  const options = { network: NODE, pid: NODE, ipc: NODE, targetId: '', usernsOptions: undefined };
  return {
    ...toPodSandbox(sandbox),
    // On the host's network a sandbox has no address of its own: the field is there and empty.
    network: { ip: '', additionalIps: [] },
    linux: { namespaces: { options } },
  };
}

/** A container as ListContainers shows it. */
export function toContainer(container: Container): ContainerMessage {
  const { record, state } = container;
  return {
    id: record.id,
    podSandboxId: record.sandboxId,
    metadata: record.config.metadata,
    image: record.config.image,
    imageRef: record.imageId,
    imageId: record.imageId,
    state,
    createdAt: record.createdAtNs,
    labels: record.config.labels,
    annotations: record.config.annotations,
  };
}

/** A container as ContainerStatus shows it. */
export function toContainerStatus(container: Container): ContainerStatus {
  const { record, exit } = container;
  return ContainerStatus.fromPartial({
    ...toContainer(container),
    startedAt: container.startedAtNs,
    finishedAt: exit?.finishedAtNs ?? 0n,
    exitCode: exit?.code ?? 0,
    reason: exit?.reason ?? '',
    message: exit?.message ?? '',
    logPath: record.logPath,
    stopSignal: record.config.stopSignal,
  });
}
