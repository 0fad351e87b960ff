import { randomUUID } from 'node:crypto';

import {
  ContainerConfig,
  NamespaceMode,
  PodSandboxConfig,
  type Mount,
  type PodSandboxConfig as PodSandboxConfigMessage,
  type ContainerConfig as ContainerConfigMessage,
} from '../../../src/watch/cri/generated/runtime/v1/cri.js';
import { BUSYBOX_IMAGE } from './image.js';

/** What a test may say of a sandbox. */
export interface SandboxOptions {
  readonly name: string;
  /** A new one unless told. */
  readonly uid?: string;
  readonly namespace?: string;
  readonly attempt?: number;
  /** On the host's network unless told: a pod of its own network costs a call of the plugins. */
  readonly hostNetwork?: boolean;
  /** Of the instance: `containerd.names.cgroupParent`. */
  readonly cgroupParent: string;
  /** Folder of the containers' logs; none are kept unless told. */
  readonly logFolder?: string;
}

/** A sandbox's configuration with the labels that the kubelet writes. */
export function sandboxConfig(options: SandboxOptions): PodSandboxConfigMessage {
  const {
    name,
    uid = randomUUID(),
    namespace = 'default',
    attempt = 0,
    hostNetwork = true,
    cgroupParent,
    logFolder = '',
  } = options;
  return PodSandboxConfig.fromPartial({
    metadata: { name, uid, namespace, attempt },
    hostname: hostNetwork ? '' : name,
    logDirectory: logFolder,
    labels: {
      'io.kubernetes.pod.name': name,
      'io.kubernetes.pod.namespace': namespace,
      'io.kubernetes.pod.uid': uid,
    },
    linux: {
      cgroupParent,
      securityContext: {
        namespaceOptions: {
          network: hostNetwork ? NamespaceMode.NODE : NamespaceMode.POD,
          pid: NamespaceMode.CONTAINER,
          ipc: NamespaceMode.POD,
        },
      },
    },
  });
}

/** What a test may say of a container. */
export interface ContainerOptions {
  readonly name: string;
  /** A shell script. */
  readonly script: string;
  readonly attempt?: number;
  readonly mounts?: readonly Mount[];
  readonly labels?: Readonly<Record<string, string>>;
}

/** The configuration of a busybox container with the labels and annotations that the kubelet writes. */
export function containerConfig(
  sandbox: PodSandboxConfigMessage,
  options: ContainerOptions,
): ContainerConfigMessage {
  const { name, script, attempt = 0, mounts = [], labels = {} } = options;
  return ContainerConfig.fromPartial({
    metadata: { name, attempt },
    image: { image: BUSYBOX_IMAGE },
    command: ['/bin/sh', '-c', script],
    labels: { ...sandbox.labels, 'io.kubernetes.container.name': name, ...labels },
    annotations: { 'io.kubernetes.container.restartCount': String(attempt) },
    mounts: [...mounts],
    logPath: sandbox.logDirectory === '' ? '' : `${name}_${attempt}.log`,
    linux: { securityContext: { namespaceOptions: sandbox.linux?.securityContext?.namespaceOptions } },
  });
}

/** Makes a folder of the host visible in a container. */
export function hostMount(hostPath: string, containerPath: string): Mount {
  return ContainerConfig.fromPartial({ mounts: [{ hostPath, containerPath }] }).mounts[0]!;
}
