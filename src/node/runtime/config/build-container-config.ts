import { ANNOTATIONS, containerLogPath, cri, type IdRange, LABELS } from '#watch';
import { type Container } from '#kube/container/container.js';
import { type NodePod } from '#kube/pod/node-pod.js';

import { podLabels } from './build-sandbox-config.js';
import { type ContainerEnvironment } from './container-environment.js';
import { type ContainerMount } from './container-mount.js';
import { computeContainerResources } from './container-resources.js';
import { type NodeFacts } from './node-facts.js';
import { type ContainerConfig } from '../runtime-changes.js';
import { computeContainerSecurity, type ImageUser, toIdMappings } from './security-context.js';

/** The inputs of a container's configuration beside the pod. */
export interface ContainerFacts {
  readonly node: NodeFacts;
  readonly kind: 'container' | 'init' | 'ephemeral';
  /** The container whose processes it sees (default: its own processes, or those of its pod). */
  readonly targetId?: string | undefined;
  /** How many containers of that name came before: CRI's attempt, and the name of the log. */
  readonly restartCount: number;
  /** The image as the runtime resolved it. */
  readonly imageRef: string;
  /** The image's user, as the runtime reports it. */
  readonly imageUser?: ImageUser;
  /** The images of its volumes as the runtime resolved them, by their names in the pod. */
  readonly volumeImages?: ReadonlyMap<string, string>;
  /** All mounts, including the file for the termination message. */
  readonly mounts: readonly ContainerMount[];
  /** The present environment of this container. */
  readonly environment: ContainerEnvironment;
  /** The ids that the pod's users have on the node (default: they are the node's own). */
  readonly idRange?: IdRange | undefined;
  /** podloop's annotations, and the kubelet's hash. */
  readonly annotations: Readonly<Record<string, string>>;
}

const PROPAGATION = {
  private: 'PROPAGATION_PRIVATE',
  'host-to-container': 'PROPAGATION_HOST_TO_CONTAINER',
  bidirectional: 'PROPAGATION_BIDIRECTIONAL',
} as const;

/**
 * The configuration of a container for CRI. Pure.
 *
 * It has podloop's mark and the kubelet's labels and annotations, so that the container can be ended without
 * its manifest. Throws an Error for a command that refers to a variable whose value is not text.
 */
export function buildContainerConfig(
  pod: NodePod,
  container: Container,
  facts: ContainerFacts,
): ContainerConfig {
  const { node, restartCount, imageRef, environment, imageUser, idRange } = facts;
  const expand = (text: string): string => environment.expand(text);
  return cri.ContainerConfig.fromPartial({
    metadata: { name: container.name, attempt: restartCount },
    image: { image: imageRef, userSpecifiedImage: container.image },
    command: (container.command ?? []).map(expand),
    args: (container.args ?? []).map(expand),
    workingDir: container.workingDir ?? '',
    envs: environment.entries.map(({ name, value }) => ({ key: name, value })),
    mounts: facts.mounts.map((mount) => toMount(mount, facts)),
    labels: { ...podLabels(pod, node.nodeInstance), [LABELS.containerName]: container.name },
    annotations: { ...describeContainer(pod, container, facts), ...facts.annotations },
    logPath: containerLogPath(container.name, restartCount),
    stdin: container.stdin ?? false,
    stdinOnce: container.stdinOnce ?? false,
    tty: container.tty ?? false,
    ...toStopSignal(container.lifecycle?.stopSignal),
    linux: {
      resources: computeContainerResources(pod, container, node),
      securityContext: withTarget(
        computeContainerSecurity(pod, container, { ...node, imageUser, idRange }),
        facts.targetId,
      ),
    },
  });
}

function withTarget(
  security: cri.LinuxContainerSecurityContext,
  targetId: string | undefined,
): cri.LinuxContainerSecurityContext {
  if (targetId === undefined) return security;
  const pid = cri.NamespaceMode.TARGET;
  const namespaceOptions = cri.NamespaceOption.fromPartial({ ...security.namespaceOptions, pid, targetId });
  return { ...security, namespaceOptions };
}

/** What has to be known of a container once its manifest is gone, in the kubelet's form. */
function describeContainer(
  { metadata, spec }: NodePod,
  container: Container,
  { kind, restartCount }: ContainerFacts,
): Record<string, string> {
  const { terminationGracePeriodSeconds } = spec;
  const { deletionGracePeriodSeconds } = metadata;
  const { lifecycle, ports, terminationMessagePath, terminationMessagePolicy } = container;
  return {
    [ANNOTATIONS.type]: kind,
    [ANNOTATIONS.restartCount]: String(restartCount),
    [ANNOTATIONS.terminationMessagePath]: terminationMessagePath ?? '',
    [ANNOTATIONS.terminationMessagePolicy]: terminationMessagePolicy ?? '',
    ...(deletionGracePeriodSeconds === undefined
      ? {}
      : { [ANNOTATIONS.podDeletionGracePeriod]: String(deletionGracePeriodSeconds) }),
    ...(terminationGracePeriodSeconds === undefined
      ? {}
      : { [ANNOTATIONS.podTerminationGracePeriod]: String(terminationGracePeriodSeconds) }),
    ...(lifecycle?.preStop === undefined
      ? {}
      : { [ANNOTATIONS.preStopHandler]: JSON.stringify(lifecycle.preStop) }),
    ...(ports === undefined || ports.length === 0 ? {} : { [ANNOTATIONS.ports]: JSON.stringify(ports) }),
  };
}

/** `SIGRTMIN+3` is SIGRTMINPLUS3 in CRI. For a name that CRI does not have, the image's signal stays. */
function toStopSignal(name: string | undefined): { stopSignal?: cri.Signal } {
  const key = name?.replace('+', 'PLUS').replace('-', 'MINUS');
  const found = Object.entries(cri.Signal).find(([known]) => known === key);
  return found === undefined ? {} : { stopSignal: found[1] };
}

function toMount(
  {
    containerPath,
    hostPath,
    image,
    readOnly,
    recursiveReadOnly = false,
    propagation = 'private',
    selinuxRelabel = false,
  }: ContainerMount,
  { volumeImages, idRange }: Pick<ContainerFacts, 'volumeImages' | 'idRange'>,
): cri.DeepPartial<cri.Mount> {
  const mappings = idRange && toIdMappings(idRange);
  return {
    ...(image && {
      image: {
        image: volumeImages?.get(image.reference) ?? image.reference,
        userSpecifiedImage: image.reference,
      },
      imageSubPath: image.subPath,
    }),
    containerPath,
    hostPath,
    readonly: readOnly,
    recursiveReadOnly,
    propagation: cri.MountPropagation[PROPAGATION[propagation]],
    selinuxRelabel,
    // Files have the owners in the container that they have on the node: volumes need no other ones.
    ...(mappings && { uidMappings: mappings.uids, gidMappings: mappings.gids }),
  };
}
