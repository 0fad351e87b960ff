/**
 * Turns sandboxes and containers into the messages of CRI.
 *
 * @module
 */
import {
  type Container as ContainerMessage,
  ContainerStatus,
  type ImageSpec,
  type LinuxContainerUser,
  type Mount,
  type PodSandbox,
  type PodSandboxStatus,
} from '#watch/messages';
import { type Container } from './container/container.js';
import { type ContainerRecord } from './container/container-record.js';
import { toReferenceText, tryParseReference } from './images/image-reference.js';
import { type ContainerUser } from './isolation/container-user.js';
import { describeNamespaces } from './isolation/namespace-options.js';
import { type Sandbox } from './pods/sandbox.js';
import { toSignal } from './container/stop-signal.js';

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

/**
 * A sandbox as PodSandboxStatus shows it. The namespaces are those that it has, not those that were asked for.
 *
 * @param ips its addresses. Without any, as on the host's network, the field is there and empty.
 */
export function toPodSandboxStatus(sandbox: Sandbox, ips: readonly string[]): PodSandboxStatus {
  const { config, record } = sandbox;
  const [ip = '', ...others] = ips;
  const options = describeNamespaces(config, record.isolation === 'namespaces', record.ownNetwork);
  return {
    ...toPodSandbox(sandbox),
    network: { ip, additionalIps: others.map((each) => ({ ip: each })) },
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
    image: toImageSpec(record),
    startedAt: container.startedAtNs,
    finishedAt: exit?.finishedAtNs ?? 0n,
    exitCode: exit?.code ?? 0,
    reason: exit?.reason ?? '',
    message: exit?.message ?? '',
    logPath: record.logPath,
    stopSignal: toSignal(container.stopSignal),
    mounts: toMounts(record),
    user: { linux: toLinuxUser(record.user) },
    resources: container.resources && { linux: container.resources },
  });
}

/**
 * A kubelet asks by the image's id and says beside it how people call it. That name is what it shows in a pod's status, as
 * containerd writes it.
 */
function toImageSpec({ config: { image } }: ContainerRecord): ImageSpec | undefined {
  if (image === undefined || image.userSpecifiedImage === '') return image;
  const named = tryParseReference(image.userSpecifiedImage);
  return named === undefined ? image : { ...image, image: toReferenceText(named) };
}

/** As they were asked for; image volumes with the image that is mounted. */
function toMounts({ config, imageVolumes }: ContainerRecord): Mount[] {
  return config.mounts.map((mount, at) => {
    const imageId = imageVolumes.find((volume) => volume.at === at)?.imageId;
    return imageId === undefined || mount.image === undefined
      ? mount
      : { ...mount, image: { ...mount.image, imageRef: imageId } };
  });
}

function toLinuxUser({ uid, gid, groups }: ContainerUser): LinuxContainerUser {
  const all = [...new Set([gid, ...groups])];
  return { uid: BigInt(uid), gid: BigInt(gid), supplementalGroups: all.map(BigInt) };
}
