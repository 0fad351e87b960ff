/**
 * What a request may ask for that plain processes cannot give. Nothing of it is dropped in silence when it is a
 * promise about safety or data: it is refused, and the sentence says what is missing.
 *
 * Accepted without effect, since agents always send them and docs/reference/embedded-runtime.md says so: host name,
 * DNS, port mappings, cgroup parents, limits, masked paths, namespace modes, runtime-default profiles.
 *
 * @module
 */
import { userInfo } from 'node:os';
import {
  SecurityProfile_ProfileType,
  type ContainerConfig,
  type LinuxContainerSecurityContext,
  type LinuxSandboxSecurityContext,
  type PodSandboxConfig,
} from '../cri/generated/runtime/v1/cri.js';
import { invalidArgument, unimplemented } from './rpc-error.js';

type SharedContext = Pick<
  LinuxSandboxSecurityContext & LinuxContainerSecurityContext,
  | 'runAsUser'
  | 'runAsGroup'
  | 'supplementalGroups'
  | 'readonlyRootfs'
  | 'seccomp'
  | 'apparmor'
  | 'selinuxOptions'
>;

/** Throws when a sandbox is asked to be what it cannot be. */
export function checkSandboxConfig(config: PodSandboxConfig): void {
  const { sysctls = {}, securityContext } = config.linux ?? {};
  refuse(Object.keys(sysctls).length > 0, 'sysctls: pods share the host’s namespaces');
  if (securityContext !== undefined) checkSecurityContext(securityContext);
  if (config.logDirectory !== '' && !config.logDirectory.startsWith('/')) {
    throw invalidArgument(`log_directory "${config.logDirectory}" is not absolute`);
  }
}

/** Throws when a container is asked to be what it cannot be, or cannot be at all. */
export function checkContainerConfig(config: ContainerConfig): void {
  refuse(config.mounts.length > 0, 'mounts: containers see the host’s own files');
  refuse(config.devices.length + config.CDIDevices.length > 0, 'devices: containers see the host’s own /dev');
  refuse(config.tty, 'tty: there is no terminal for containers yet');
  refuse(config.stdin || config.stdinOnce, 'stdin: it is always empty, since Attach does not exist yet');
  if (config.linux?.securityContext !== undefined) checkContainerContext(config.linux.securityContext);
  checkWords(config);
}

function checkContainerContext(context: LinuxContainerSecurityContext): void {
  checkSecurityContext(context);
  const { username } = userInfo();
  const {
    addCapabilities = [],
    dropCapabilities = [],
    addAmbientCapabilities = [],
  } = context.capabilities ?? {};
  const capabilities = addCapabilities.length + dropCapabilities.length + addAmbientCapabilities.length;
  refuse(
    context.runAsUsername !== '' && context.runAsUsername !== username,
    `run_as_username: all run as ${username}`,
  );
  refuse(capabilities > 0, 'capabilities: containers have those of the runtime');
  refuse(context.noNewPrivs, 'no_new_privs');
}

function checkSecurityContext(context: SharedContext): void {
  const { uid, gid } = userInfo();
  const { runAsUser, runAsGroup, supplementalGroups, seccomp, apparmor, selinuxOptions } = context;
  refuse(runAsUser !== undefined && Number(runAsUser.value) !== uid, `run_as_user: all run as user ${uid}`);
  refuse(
    runAsGroup !== undefined && Number(runAsGroup.value) !== gid,
    `run_as_group: all run as group ${gid}`,
  );
  refuse(supplementalGroups.length > 0, 'supplemental_groups: containers have those of the runtime');
  refuse(context.readonlyRootfs, 'readonly_rootfs: the root is the host’s');
  refuse(seccomp?.profileType === SecurityProfile_ProfileType.Localhost, 'seccomp profiles of one’s own');
  refuse(apparmor?.profileType === SecurityProfile_ProfileType.Localhost, 'AppArmor profiles of one’s own');
  refuse(selinuxOptions !== undefined && Object.values(selinuxOptions).join('') !== '', 'SELinux options');
}

/** What no command line and no environment can hold. */
function checkWords(config: ContainerConfig): void {
  const words = [...config.command, ...config.args, config.workingDir];
  if (words.some((word) => word.includes('\0')))
    throw invalidArgument('command, args or working_dir hold a NUL byte');
  if (config.command[0] === '') throw invalidArgument('command[0] is empty');
  if (config.workingDir !== '' && !config.workingDir.startsWith('/')) {
    throw invalidArgument(`working_dir "${config.workingDir}" is not absolute`);
  }
  for (const { key, value } of config.envs) {
    const fault = key === '' || key.startsWith('-') || /[=\0]/.test(key) || value.includes(0);
    if (fault) throw invalidArgument(`the environment variable "${key}" cannot exist`);
  }
}

function refuse(asked: boolean, what: string): void {
  if (asked) throw unimplemented(`not supported by the embedded runtime: ${what}`);
}
