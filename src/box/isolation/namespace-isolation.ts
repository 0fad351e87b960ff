import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ContainerConfig, NamespaceMode, PodSandboxConfig } from '#watch/messages';
import { withTerminalVariables } from './script/enter-script.js';
import { type Clock } from '#base/time/clock.js';
import { type ContainerRoot } from '../images/container-roots.js';
import { readUsers } from '../images/read-users.js';
import { type ProcessIdentity } from '../process/child-identity.js';
import { checkAnyContainer, checkAnySandbox, refuse } from '../request-checks.js';
import { type ContainerUser, resolveContainerUser } from './container-user.js';
import { findFaultInside } from './mounts/find-fault-inside.js';
import {
  type EnterRequest,
  type HostCommand,
  type IsolatedSandbox,
  type Isolation,
  type LaunchRequest,
} from './isolation.js';
import { renderNamespaceLaunch } from './namespace-launch.js';
import { sandboxNamespaces } from './namespace-options.js';
import { writeSandboxFiles } from './mounts/sandbox-files.js';
import { endHolder, startHolder } from './sandbox-holder.js';
import { type SessionKeyring } from './session-keyring.js';
import { type SandboxShm } from './mounts/sandbox-shm.js';
import { type ToolKit } from './script/tool-kit.js';
import { invalidArgument, refused } from '../rpc-error.js';
import { computeCapabilities } from './script/capabilities.js';
import { findProfilePath, readSeccompFilter } from './seccomp/seccomp-profile.js';
import { checkDevice } from './mounts/devices.js';
import { checkMount } from './mounts/container-volumes.js';

/** What a {@link NamespaceIsolation} needs. */
export interface NamespaceIsolationOptions {
  /** The runtime's root, without links. */
  readonly rootDir: string;
  readonly tools: ToolKit;
  readonly shm: SandboxShm;
  /** The capabilities that can be given. */
  readonly capabilities: readonly string[];
  /** Undefined where containers have the keyrings of the runtime. */
  readonly keyring: SessionKeyring | undefined;
  /** Absolute path of util-linux's `script`. */
  readonly script: string;
  /** Folders of the programs that scripts call, with colons between them. */
  readonly path: string;
  /** Whether sandboxes may have a network namespace of their own. */
  readonly isolatesNetwork: boolean;
  readonly clock: Clock;
}

/** Containers in namespaces, each with a root of its own. See the modules that it is put together from. */
export class NamespaceIsolation implements Isolation {
  readonly kind = 'namespaces';
  readonly hasRoots = true;
  readonly #options: NamespaceIsolationOptions;

  constructor(options: NamespaceIsolationOptions) {
    this.#options = options;
  }

  get notice(): string {
    const { isolatesNetwork, keyring, tools } = this.#options;
    const network = isolatesNetwork ? 'network, ' : '';
    const keys =
      keyring === undefined
        ? '; keyrings are shared with the host, as neither perl nor keyctl can change that here'
        : '';
    const swaps =
      tools.starter === undefined
        ? '; a working directory is checked and entered in two steps, as there is no perl that could do it in one: a container that swaps it in between may begin in the runtime’s own tools'
        : '';
    return (
      `pods have ${network}IPC and host name of their own, containers processes and files; root is the host’s root ` +
      'with fewer capabilities, there are no AppArmor or SELinux profiles, no seccomp profile but one’s own, and no ' +
      'user namespaces' +
      keys +
      swaps
    );
  }

  ownsNetwork(config: PodSandboxConfig): boolean {
    return sandboxNamespaces(this.#effective(config)).network;
  }

  async checkSandbox(config: PodSandboxConfig): Promise<void> {
    // As it was asked for: a mode that does not exist would be lost among those that hold.
    checkAnySandbox(config, undefined);
    checkIsolatedSandbox(this.#effective(config));
    // Its holder runs nothing of the pod, and containers have profiles of their own: it only has to be one.
    const profile = findProfilePath(config.linux?.securityContext);
    if (profile !== undefined) await readSeccompFilter(profile);
  }

  async checkContainer(config: ContainerConfig): Promise<void> {
    const { capabilities, keyring, tools } = this.#options;
    const canFilter = keyring?.refuses === true && tools.starter !== undefined;
    checkIsolatedContainer(config, capabilities, canFilter);
    const profile = findProfilePath(config.linux?.securityContext);
    if (profile !== undefined) await readSeccompFilter(profile);
  }

  endsWithMain(config: ContainerConfig): boolean {
    return config.linux?.securityContext?.namespaceOptions?.pid === NamespaceMode.CONTAINER;
  }

  async resolveUser(config: ContainerConfig, imageUser: string, root: ContainerRoot): Promise<ContainerUser> {
    return resolveContainerUser(config.linux?.securityContext, imageUser, await readUsers(root));
  }

  async startSandbox(sandbox: Omit<IsolatedSandbox, 'holder'>): Promise<ProcessIdentity> {
    const { tools, path, shm } = this.#options;
    const { dir, id } = sandbox;
    const config = this.#effective(sandbox.config);
    const namespaces = sandboxNamespaces(config);
    await writeSandboxFiles(dir, config, namespaces);
    if (namespaces.ipc) await shm.make(id);
    const { hostname } = config;
    return startHolder({ dir, namespaces, hostname, sysctls: config.linux?.sysctls ?? {}, tools, path });
  }

  async endSandbox({ id, dir }: Omit<IsolatedSandbox, 'holder'>): Promise<void> {
    await endHolder(dir, this.#options.clock);
    await this.#options.shm.remove(id);
  }

  pruneSandboxes(live: ReadonlySet<string>): Promise<void> {
    return this.#options.shm.prune(live);
  }

  async prepareStart(request: LaunchRequest): Promise<void> {
    const { dir, sandbox } = request;
    const namespaces = sandboxNamespaces(this.#effective(sandbox.config));
    const shmDir = namespaces.ipc ? await this.#options.shm.find(sandbox.id) : '/dev/shm';
    const files = await renderNamespaceLaunch(request, { ...this.#options, namespaces, shmDir });
    await Promise.all([...files].map(([name, text]) => writeFile(join(dir, name), text, { mode: 0o600 })));
  }

  findCommandFault({ main, command, argv }: EnterRequest): Promise<string | undefined> {
    return findFaultInside(`/proc/${main.pid}/root`, { ...command, argv });
  }

  enter({ dir, main, argv, tty }: EnterRequest): HostCommand {
    const script = ['/bin/sh', join(dir, 'enter'), String(main.pid), main.startTicks, tty ? 'tty' : 'pipe'];
    return {
      argv: [...script, ...withTerminalVariables(argv, tty)],
      environment: { PATH: this.#options.path },
      workingDir: '/',
    };
  }

  /** Where pods share the host's network whatever they ask for, they ask for that. */
  #effective(config: PodSandboxConfig): PodSandboxConfig {
    return this.#options.isolatesNetwork ? config : onHostNetwork(config);
  }
}

function onHostNetwork(config: PodSandboxConfig): PodSandboxConfig {
  const { linux } = config;
  const namespaceOptions = { ...linux?.securityContext?.namespaceOptions, network: NamespaceMode.NODE };
  const securityContext = { ...linux?.securityContext, namespaceOptions };
  return PodSandboxConfig.fromPartial({ ...config, linux: { ...linux, securityContext } });
}

/** Throws when a sandbox that can be is asked to be what namespaces cannot make it. */
function checkIsolatedSandbox(config: PodSandboxConfig): void {
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
 * @param canFilter whether there is what loads a filter of system calls.
 */
function checkIsolatedContainer(
  config: ContainerConfig,
  available: readonly string[],
  canFilter: boolean,
): void {
  checkAnyContainer(config, canFilter ? undefined : 'without perl, on x86-64 or ARM64');
  const { securityContext } = config.linux ?? {};
  refuse(config.command[0]?.includes('=') === true, 'a command with "=" in its path');
  for (const mount of config.mounts) checkMount(mount);
  for (const device of config.devices) checkDevice(device);
  computeCapabilities(securityContext?.capabilities, securityContext?.privileged === true, available);
  for (const path of [...(securityContext?.maskedPaths ?? []), ...(securityContext?.readonlyPaths ?? [])]) {
    if (!path.startsWith('/') || path.includes('\0')) throw invalidArgument(`"${path}" is no absolute path`);
  }
}
