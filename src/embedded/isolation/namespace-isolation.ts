import { readFile, stat, writeFile } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { NamespaceMode, PodSandboxConfig, type ContainerConfig } from '../../cri/generated/runtime/v1/cri.js';
import { type Clock } from '../../util/clock.js';
import { type ProcessIdentity } from '../process/process-identity.js';
import { refused } from '../rpc-error.js';
import { computeCapabilities } from './capabilities.js';
import { resolveContainerUser, type ContainerUser } from './container-user.js';
import { findCandidates } from './command-candidates.js';
import { findDevices, listAllDevices, PLAIN_DEVICES, type DeviceNode } from './devices.js';
import { renderEnter } from './enter-script.js';
import { findFaultInside, findFormatFault } from './find-fault-inside.js';
import { imageFoldersOf, type ContainerRoot } from '../images/container-roots.js';
import { readUsers } from '../images/read-users.js';
import {
  type EnterRequest,
  type HostCommand,
  type IsolatedSandbox,
  type Isolation,
  type LaunchRequest,
} from './isolation.js';
import { findLinkFreePath } from './link-free-path.js';
import { planMounts, type ApiPath } from './mount-plan.js';
import { findMountOf, isBelow, parseMountinfo } from './mountinfo.js';
import { checkIsolatedContainer, checkIsolatedSandbox } from './namespace-checks.js';
import { containerPidScope, sandboxNamespaces } from './namespace-options.js';
import { renderLaunch } from './launch-script.js';
import { renderPrivilegeSteps } from './privilege-steps.js';
import { SANDBOX_FILES, sandboxFilePath, writeSandboxFiles } from './sandbox-files.js';
import { endHolder, findHolder, startHolder, voidHolder } from './sandbox-holder.js';
import { type SandboxShm } from './sandbox-shm.js';
import { renderSetup } from './setup-script.js';
import { type ToolKit } from './tool-kit.js';
import { findVolumes, inOrderOfDepth, type Volume } from './volumes.js';

/** What a {@link NamespaceIsolation} needs. */
export interface NamespaceIsolationOptions {
  /** The runtime's root, without links. */
  readonly rootDir: string;
  readonly tools: ToolKit;
  readonly shm: SandboxShm;
  /** The capabilities that can be given. */
  readonly capabilities: readonly string[];
  /** Absolute path of util-linux's `script`. */
  readonly script: string;
  /** Folders of the programs that scripts call, with colons between them. */
  readonly path: string;
  /** Whether sandboxes may have a network namespace of their own. */
  readonly isolatesNetwork: boolean;
  readonly clock: Clock;
}

/** Where the mounts of a container are made whose volumes hand theirs on to the host: /proc is never one of those. */
const APART = '/proc/driver';

/** File systems of our own in every container, whatever its image has there. */
const API = ['/proc', '/sys', '/dev'];

/** Containers in namespaces, each with a root of its own. See the modules that it is put together from. */
export class NamespaceIsolation implements Isolation {
  readonly kind = 'namespaces';
  readonly hasRoots = true;
  readonly #options: NamespaceIsolationOptions;

  constructor(options: NamespaceIsolationOptions) {
    this.#options = options;
  }

  get notice(): string {
    const network = this.#options.isolatesNetwork ? 'network, ' : '';
    return (
      `pods have ${network}IPC and host name of their own, containers processes and files; root is the host’s root ` +
      'with fewer capabilities, there are no seccomp, AppArmor or SELinux profiles and no user namespaces'
    );
  }

  ownsNetwork(config: PodSandboxConfig): boolean {
    return sandboxNamespaces(this.#effective(config)).network;
  }

  checkSandbox(config: PodSandboxConfig): void {
    checkIsolatedSandbox(this.#effective(config));
  }

  checkContainer(config: ContainerConfig): void {
    checkIsolatedContainer(config, this.#options.capabilities);
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
    await voidHolder(dir);
    const holder = await findHolder(dir);
    if (holder !== undefined) await endHolder(holder, this.#options.clock);
    await this.#options.shm.remove(id);
  }

  pruneSandboxes(live: ReadonlySet<string>): Promise<void> {
    return this.#options.shm.prune(live);
  }

  async prepareStart(request: LaunchRequest): Promise<void> {
    const { dir, sandbox, record, root, joinFiles } = request;
    const { rootDir, tools, path, script } = this.#options;
    const { config } = record;
    const { holder } = sandbox;
    if (holder === undefined) throw refused('the sandbox has no holder');
    const context = config.linux?.securityContext;
    const privileged = context?.privileged === true;
    const namespaces = sandboxNamespaces(this.#effective(sandbox.config));
    const roots = [...(root.kind === 'overlay' ? [root.upperDir] : []), ...imageFoldersOf(root)];
    const volumes = await placeVolumes(await findVolumes(config.mounts, request.imageFolders), roots);
    const hidden = ['/proc', '/sys', '/dev', ...volumes.map(({ target }) => target)];
    const fault = await findFormatFault(roots, request.command, hidden);
    if (fault !== undefined) throw refused(`unable to start container process: ${fault}`);
    const sharesMounts = volumes.some(({ propagation }) => propagation === 'rshared');
    const base = sharesMounts ? APART : join(rootDir, 'stage');
    const masked = splitPaths(privileged ? [] : (context?.maskedPaths ?? []));
    const readonly = splitPaths(privileged ? [] : (context?.readonlyPaths ?? []));
    const plan = planMounts({
      base,
      fresh: sharesMounts,
      toolsDir: tools.dir,
      root,
      privileged,
      shmDir: namespaces.ipc ? await this.#options.shm.find(sandbox.id) : '/dev/shm',
      volumes,
      files: await Promise.all(
        SANDBOX_FILES.map(async (file) => ({
          source: sandboxFilePath(sandbox.dir, file),
          target: await findLinkFreePath(roots, `/etc/${file}`, [
            ...API,
            ...volumes.map(({ target }) => target),
          ]),
        })),
      ),
      masked: await findApiPaths(masked.api),
      readonly: await findApiPaths(readonly.api),
    });
    const { devices, extraDevices } = await this.#findDevices(config, privileged);
    const privilegeSteps = renderPrivilegeSteps(
      {
        user: record.user,
        capabilities: computeCapabilities(context?.capabilities, privileged, this.#options.capabilities),
        noNewPrivs: context?.noNewPrivs === true,
      },
      tools,
    );
    const { argv, environment, workingDir } = request.command;
    const common = { tools, joinFiles, privilegeSteps, environment, workingDir };
    const setup = renderSetup({
      ...common,
      dir,
      base,
      plan,
      sharesMounts,
      oomScoreAdj: request.oomScoreAdj,
      devices,
      extraDevices,
      masked: masked.own,
      readonly: readonly.own,
      readonlyRoot: context?.readonlyRootfs === true,
      rootRestrictions: root.kind === 'host' ? await restrictionsOf('/') : ['nodev'],
      tty: config.tty,
      argv,
      candidates: findCandidates(request.command),
    });
    const scope = containerPidScope(config, namespaces);
    const target = scope.kind === 'target' ? request.findMain(scope.containerId) : undefined;
    if (scope.kind === 'target' && target === undefined) {
      throw refused(`the target container "${scope.containerId}" is not running`);
    }
    const launch = renderLaunch({
      tools,
      holder,
      namespaces,
      pid: scope.kind === 'container' ? 'own' : scope.kind === 'host' ? 'host' : (target ?? holder),
      sharesMounts,
      ...(config.tty && { script }),
      path,
      joinFiles,
    });
    const files = new Map<string, string | Buffer>([
      ...setup.files,
      ...launch,
      ['setup', setup.script],
      ['enter', renderEnter({ ...common, holder })],
    ]);
    await Promise.all([...files].map(([name, text]) => writeFile(join(dir, name), text, { mode: 0o600 })));
  }

  findCommandFault({ main, command, argv }: EnterRequest): Promise<string | undefined> {
    return findFaultInside(`/proc/${main.pid}/root`, { ...command, argv });
  }

  enter({ dir, main, argv, tty }: EnterRequest): HostCommand {
    const script = ['/bin/sh', join(dir, 'enter'), String(main.pid), main.startTicks, tty ? 'tty' : 'pipe'];
    return { argv: [...script, ...argv], environment: { PATH: this.#options.path }, workingDir: '/' };
  }

  /** Where pods share the host's network whatever they ask for, they ask for that. */
  #effective(config: PodSandboxConfig): PodSandboxConfig {
    return this.#options.isolatesNetwork ? config : onHostNetwork(config);
  }

  async #findDevices(
    config: ContainerConfig,
    privileged: boolean,
  ): Promise<{ devices: readonly string[]; extraDevices: readonly DeviceNode[] }> {
    const all = privileged
      ? await listAllDevices()
      : PLAIN_DEVICES.map((path) => ({ hostPath: path, containerPath: path }));
    const wanted = [...all, ...(await findDevices(config.devices))];
    const flat = ({ hostPath, containerPath }: DeviceNode) =>
      hostPath === containerPath && posix.dirname(hostPath) === '/dev';
    return {
      devices: [...new Set(wanted.filter(flat).map(({ hostPath }) => hostPath))],
      extraDevices: wanted.filter((node) => !flat(node)),
    };
  }
}

/** Puts them where the container will see them: an image may have links where they are to be mounted. */
async function placeVolumes(
  volumes: readonly Volume[],
  roots: readonly string[],
): Promise<readonly Volume[]> {
  const placed = new Map<string, Volume>();
  for (const volume of volumes) {
    const target = await findLinkFreePath(roots, volume.target, [...API, ...placed.keys()]);
    if (target === '/' || isBelow(target, '/proc'))
      throw refused(`"${volume.target}" cannot be mounted, as the image's links lead to ${target}`);
    placed.set(target, { ...volume, target });
  }
  return inOrderOfDepth([...placed.values()]);
}

function onHostNetwork(config: PodSandboxConfig): PodSandboxConfig {
  const { linux } = config;
  const namespaceOptions = { ...linux?.securityContext?.namespaceOptions, network: NamespaceMode.NODE };
  const securityContext = { ...linux?.securityContext, namespaceOptions };
  return PodSandboxConfig.fromPartial({ ...config, linux: { ...linux, securityContext } });
}

/** Those of /proc and /sys, which are file systems of the kernel, and those among the container's own files. */
function splitPaths(paths: readonly string[]): { api: readonly string[]; own: readonly string[] } {
  const normal = [...new Set(paths.map((path) => posix.normalize(path).replace(/(?<=.)\/$/, '')))];
  const isApi = (path: string) => isBelow(path, '/proc') || isBelow(path, '/sys');
  return { api: normal.filter(isApi), own: normal.filter((path) => !isApi(path)) };
}

/** A container's /proc and /sys have what the host's have. */
async function findApiPaths(paths: readonly string[]): Promise<readonly ApiPath[]> {
  const found = await Promise.all(
    paths.map(async (path) => {
      const facts = await stat(path).catch(() => undefined);
      return facts && { path, folder: facts.isDirectory() };
    }),
  );
  return found.filter((each) => each !== undefined);
}

async function restrictionsOf(path: string): Promise<readonly string[]> {
  const mounts = parseMountinfo(await readFile('/proc/self/mountinfo', 'utf8'));
  return findMountOf(mounts, path)?.restrictions ?? [];
}
