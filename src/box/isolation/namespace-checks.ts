import { NamespaceMode, type ContainerConfig, type PodSandboxConfig } from '#watch/messages';
import { checkAnyContainer, refuse } from '../request-checks.js';
import { invalidArgument, refused } from '../rpc-error.js';
import { computeCapabilities } from './script/capabilities.js';
import { checkDevice } from './mounts/devices.js';
import { sandboxNamespaces } from './namespace-options.js';
import { checkMount } from './mounts/volumes.js';

/** Throws when a sandbox that can be is asked to be what namespaces cannot make it. */
export function checkIsolatedSandbox(config: PodSandboxConfig): void {
  const namespaces = sandboxNamespaces(config);
  for (const name of Object.keys(config.linux?.sysctls ?? {})) {
    if (!/^[a-zA-Z0-9_-]+([./][a-zA-Z0-9_-]+)+$/.test(name)) throw invalidArgument(`"${name}" is no sysctl`);
    const dotted = name.replaceAll('/', '.');
    const scope = dotted.startsWith('net.') ? 'network' : IPC.test(dotted) ? 'ipc' : undefined;
    if (scope === undefined || !namespaces[scope]) {
      throw refused(`sysctl "${name}" is not in a separate kernel namespace`);
    }
  }
  const { network, pid } = config.linux?.securityContext?.namespaceOptions ?? {};
  if (
    network === NamespaceMode.CONTAINER ||
    network === NamespaceMode.TARGET ||
    pid === NamespaceMode.TARGET
  ) {
    throw invalidArgument('a sandbox has namespaces of its own (POD, CONTAINER) or the host’s (NODE)');
  }
}

/** Sysctls that each IPC namespace has for itself; see ipc_namespaces(7). */
const IPC = /^(kernel\.(shm\w*|msg\w*|sem)|fs\.mqueue\.\w+)$/;

/**
 * Throws when a container is asked to be what namespaces cannot make it.
 *
 * @param available the capabilities that can be given.
 */
export function checkIsolatedContainer(config: ContainerConfig, available: readonly string[]): void {
  checkAnyContainer(config);
  const { securityContext } = config.linux ?? {};
  refuse(config.command[0]?.includes('=') === true, 'a command with "=" in its path');
  for (const mount of config.mounts) checkMount(mount);
  for (const device of config.devices) checkDevice(device);
  computeCapabilities(securityContext?.capabilities, securityContext?.privileged === true, available);
  for (const path of [...(securityContext?.maskedPaths ?? []), ...(securityContext?.readonlyPaths ?? [])]) {
    if (!path.startsWith('/') || path.includes('\0')) throw invalidArgument(`"${path}" is no absolute path`);
  }
}
