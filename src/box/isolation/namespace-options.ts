import {
  NamespaceMode,
  type ContainerConfig,
  type NamespaceOption,
  type PodSandboxConfig,
} from '#watch/messages';

const { NODE, CONTAINER, TARGET } = NamespaceMode;

/** Which namespaces a sandbox has of its own; the others are the host's. */
export interface SandboxNamespaces {
  /** With it goes the host name: a pod on the host's network has the host's name. */
  readonly network: boolean;
  readonly ipc: boolean;
  /** For those containers that share their processes. */
  readonly pid: boolean;
}

/** What a sandbox asks for. */
export function sandboxNamespaces(config: PodSandboxConfig): SandboxNamespaces {
  const options = config.linux?.securityContext?.namespaceOptions;
  return { network: options?.network !== NODE, ipc: options?.ipc !== NODE, pid: options?.pid !== NODE };
}

/** Whose processes a container sees: its own, its pod's, those of another container, or the host's. */
export type PidScope =
  { readonly kind: 'container' | 'pod' | 'host' } | { readonly kind: 'target'; readonly containerId: string };

/** What a container asks for. In a sandbox of the host's processes, those of the pod are the host's. */
export function containerPidScope(config: ContainerConfig, sandbox: SandboxNamespaces): PidScope {
  const options = config.linux?.securityContext?.namespaceOptions;
  if (options?.pid === TARGET) return { kind: 'target', containerId: options.targetId };
  if (options?.pid === CONTAINER) return { kind: 'container' };
  return { kind: sandbox.pid && options?.pid !== NODE ? 'pod' : 'host' };
}

/** The answer of PodSandboxStatus: what was asked for, as far as it is so. */
export function describeNamespaces(
  config: PodSandboxConfig,
  isolated: boolean,
  ownNetwork: boolean,
): NamespaceOption {
  const options = config.linux?.securityContext?.namespaceOptions;
  const { POD } = NamespaceMode;
  return {
    network: isolated && ownNetwork ? (options?.network ?? POD) : NODE,
    pid: isolated ? (options?.pid ?? POD) : NODE,
    ipc: isolated ? (options?.ipc ?? POD) : NODE,
    targetId: '',
    usernsOptions: undefined,
  };
}
