/**
 * Writes down how one container comes to be: from CRI's message to the scripts and lists that its supervisor runs.
 *
 * In: the request to start it, and what the machine has. Out: the files of the container's folder, by name; `command`
 * is the one that the supervisor reads. Everything that can be refused is, before anything is written.
 *
 * @module
 */
import { join } from 'node:path';
import { type ContainerConfig, Mount } from '#watch/messages';
import { type ContainerRoot, imageFoldersOf } from '../images/container-roots.js';
import { type ProcessIdentity } from '../process/child-identity.js';
import { refused } from '../rpc-error.js';
import { computeCapabilities } from './script/capabilities.js';
import { findCandidates } from './script/command-candidates.js';
import { findContainerDevices } from './mounts/devices.js';
import { renderEnter } from './script/enter-script.js';
import { findFormatFault } from './mounts/find-fault-inside.js';
import { type LaunchRequest } from './isolation.js';
import { type LaunchScriptRequest, renderLaunch } from './script/launch-script.js';
import { API_FOLDERS, type CgroupView, planMounts } from './mounts/mount-plan.js';
import { findMountOf, parseMountinfo, readOwnMountinfo } from '#base/proc/mountinfo.js';
import { containerPidScope, type SandboxNamespaces } from './namespace-options.js';
import { checkApiFolders, placeSandboxFiles } from './mounts/place-sandbox-files.js';
import { placeVolumes } from './mounts/place-volumes.js';
import { renderPrivilegeSteps } from './script/privilege-steps.js';
import { findProfilePath, readSeccompFilter } from './seccomp/seccomp-profile.js';
import { findProtectedPaths } from './mounts/protected-paths.js';
import { refusesKeyrings, type SessionKeyring } from './session-keyring.js';
import { renderSetup } from './script/setup-script.js';
import { type ToolKit } from './script/tool-kit.js';
import { findVolumes, type Volume } from './mounts/container-volumes.js';
import { findWorkingDir } from './script/working-dir.js';

/** What {@link renderNamespaceLaunch} needs besides the request. */
export interface NamespaceLaunchOptions {
  /** The runtime's root, without links. */
  readonly rootDir: string;
  readonly tools: ToolKit;
  /** The capabilities that can be given. */
  readonly capabilities: readonly string[];
  /** Undefined where containers have the keyrings of the runtime. */
  readonly keyring: SessionKeyring | undefined;
  /** Absolute path of util-linux's `script`. */
  readonly script: string;
  readonly path: string;
  /** Those of the container's sandbox. */
  readonly namespaces: SandboxNamespaces;
  /** Folder of the host that is the pod's /dev/shm; undefined for one of the container's own. */
  readonly shmDir: string | undefined;
}

/** Where the mounts of a container are made whose volumes hand theirs on to the host: /proc is never one of those. */
const APART = '/proc/driver';

/** See the module's description. */
export async function renderNamespaceLaunch(
  request: LaunchRequest,
  options: NamespaceLaunchOptions,
): Promise<ReadonlyMap<string, string | Buffer>> {
  const { dir, sandbox, record, root, joinFiles, unifiedCgroups } = request;
  const { rootDir, tools, path, script, namespaces, shmDir, keyring } = options;
  const { config } = record;
  const { holder } = sandbox;
  if (holder === undefined) throw refused('the sandbox has no holder');
  const context = config.linux?.securityContext;
  const privileged = context?.privileged === true;
  const readonlyRoot = context?.readonlyRootfs === true;
  const roots = [...(root.kind === 'overlay' ? [root.upperDir] : []), ...imageFoldersOf(root)];
  await checkApiFolders(imageFoldersOf(root));
  const mounts = [...config.mounts, ...toMounts(root)];
  const volumes = await placeVolumes(await findVolumes(mounts, request.imageFolders), roots);
  const sharesMounts = volumes.some(({ propagation }) => propagation === 'rshared');
  const base = sharesMounts ? APART : join(rootDir, 'stage');
  const [, files, masked, readonly, nodes, hostRestrictions] = await Promise.all([
    checkFormat(request, roots, volumes),
    placeSandboxFiles(sandbox.dir, roots, volumes),
    findProtectedPaths(privileged ? [] : (context?.maskedPaths ?? [])),
    findProtectedPaths(privileged ? [] : (context?.readonlyPaths ?? [])),
    findContainerDevices(config.devices, privileged),
    root.kind === 'host' ? findHostRestrictions() : undefined,
  ]);
  const rootRestrictions = [
    ...new Set([...(hostRestrictions ?? ['nodev']), ...(privileged ? [] : ['nodev'])]),
  ];
  const targets = volumes.map(({ target }) => target);
  const workingDir = await findWorkingDir(request.command.workingDir, roots, targets);
  const ownCgroups = unifiedCgroups !== undefined && !privileged;
  const plan = planMounts({
    cgroups: findCgroupView(unifiedCgroups, privileged),
    ...{ base, root, hostRestrictions, privileged, shmDir, volumes, files, readonlyRoot },
    devices: [...nodes.devices, ...nodes.extraDevices.map(({ containerPath }) => containerPath)],
    fresh: sharesMounts,
    toolsDir: tools.dir,
    masked: masked.api,
    readonly: readonly.api,
  });
  const capabilities = computeCapabilities(context?.capabilities, privileged, options.capabilities);
  const noNewPrivs = context?.noNewPrivs === true;
  const profile = findProfilePath(context);
  const filter = profile === undefined ? undefined : await readSeccompFilter(profile);
  const { ambient } = capabilities;
  const dropsSysAdmin = filter !== undefined && !noNewPrivs && !ambient.includes('sys_admin');
  const carried = dropsSysAdmin ? { ...capabilities, ambient: [...ambient, 'sys_admin'] } : capabilities;
  const privilegeSteps = renderPrivilegeSteps(
    { user: record.user, capabilities: carried, noNewPrivs },
    tools,
  );
  const { argv, environment } = request.command;
  const common = {
    ...{ tools, joinFiles, ownCgroups, privilegeSteps, environment, workingDir },
    filter: filter && { ...filter, dropsSysAdmin },
  };
  const prefix = keyring?.words(refusesKeyrings(context)) ?? [];
  const setup = renderSetup({
    ...common,
    ...{ dir, base, plan, sharesMounts, rootRestrictions, argv },
    oomScoreAdj: request.oomScoreAdj,
    devices: nodes.devices,
    extraDevices: nodes.extraDevices,
    masked: masked.own,
    readonly: readonly.own,
    readonlyRoot,
    tty: config.tty,
    candidates: findCandidates(request.command),
  });
  const launch = renderLaunch({
    ...{ tools, holder, namespaces, sharesMounts, path, joinFiles, prefix },
    pid: findPidNamespace(config, namespaces, holder, request),
    ...(config.tty && { script }),
  });
  return new Map<string, string | Buffer>([
    ...setup.files,
    ...launch,
    ['setup', setup.script],
    ['enter', renderEnter({ ...common, holder, prefix })],
  ]);
}

/** The volumes that the image asks for; none of them is where the request mounts something. */
function toMounts(root: ContainerRoot): Mount[] {
  const volumes = root.kind === 'host' ? [] : (root.volumes ?? []);
  return volumes.map(({ source, target }) => Mount.fromPartial({ hostPath: source, containerPath: target }));
}

/** As with other runtimes: what is privileged sees and changes all groups of the host. */
function findCgroupView(mountpoint: string | undefined, privileged: boolean): CgroupView {
  if (mountpoint === undefined) return undefined;
  return privileged ? { kind: 'host', mountpoint } : { kind: 'own' };
}

async function checkFormat(
  { command }: LaunchRequest,
  roots: readonly string[],
  volumes: readonly Volume[],
): Promise<void> {
  const hidden = [...API_FOLDERS, ...volumes.map(({ target }) => target)];
  const fault = await findFormatFault(roots, command, hidden);
  if (fault !== undefined) throw refused(`unable to start container process: ${fault}`);
}

function findPidNamespace(
  config: ContainerConfig,
  namespaces: SandboxNamespaces,
  holder: ProcessIdentity,
  { findMain }: LaunchRequest,
): LaunchScriptRequest['pid'] {
  const scope = containerPidScope(config, namespaces);
  switch (scope.kind) {
    case 'container':
      return 'own';
    case 'host':
      return 'host';
    case 'target': {
      const target = findMain(scope.containerId);
      if (target === undefined) throw refused(`the target container "${scope.containerId}" is not running`);
      return target;
    }
    default:
      return holder;
  }
}

async function findHostRestrictions(): Promise<readonly string[]> {
  return findMountOf(parseMountinfo(await readOwnMountinfo()), '/')?.restrictions ?? [];
}
