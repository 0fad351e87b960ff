/**
 * What no sandbox and no container can be, whichever isolation there is.
 *
 * Nothing that is a promise about safety or data is dropped in silence: it is refused with a sentence.
 *
 * @module
 */
import { existsSync } from 'node:fs';
import {
  NamespaceMode,
  SecurityProfile_ProfileType,
  type ContainerConfig,
  type LinuxContainerSecurityContext,
  type LinuxSandboxSecurityContext,
  type PodSandboxConfig,
} from '#watch/messages';
import { invalidArgument, unimplemented } from './rpc-error.js';
import { findProfilePath } from './isolation/seccomp/seccomp-profile.js';
import { checkContainerValues, checkSandboxValues } from './value-checks.js';

type SharedContext = Pick<
  LinuxSandboxSecurityContext & LinuxContainerSecurityContext,
  'privileged' | 'seccomp' | 'apparmor' | 'selinuxOptions' | 'namespaceOptions' | 'seccompProfilePath'
> & { readonly apparmorProfile?: string };

/** There when the kernel has SELinux switched on. */
const SELINUX = '/sys/fs/selinux/enforce';

/** Throws when a sandbox cannot be. */
export function checkAnySandbox(config: PodSandboxConfig, unfiltered: string | undefined): void {
  checkSandboxValues(config);
  const { securityContext } = config.linux ?? {};
  if (securityContext !== undefined) checkProfiles(securityContext, unfiltered);
  if (config.logDirectory !== '' && !config.logDirectory.startsWith('/')) {
    throw invalidArgument(`log_directory "${config.logDirectory}" is not absolute`);
  }
}

/**
 * Throws when a container cannot be.
 *
 * @param unfiltered why there are no seccomp profiles of one's own; undefined where there are.
 */
export function checkAnyContainer(config: ContainerConfig, unfiltered: string | undefined): void {
  checkContainerValues(config);
  refuse(config.CDIDevices.length > 0, 'CDI devices');
  if (config.linux?.securityContext !== undefined) checkProfiles(config.linux.securityContext, unfiltered);
  checkWords(config);
}

/** Throws UNIMPLEMENTED with what is missing when it was asked for. */
export function refuse(asked: boolean, what: string): void {
  if (asked) throw unimplemented(`not supported by the embedded runtime: ${what}`);
}

/** Of what is privileged other runtimes pass over the seccomp profile, and agents count on it. */
function checkProfiles(context: SharedContext, unfiltered: string | undefined): void {
  const { apparmor, selinuxOptions, namespaceOptions, apparmorProfile } = context;
  const { Localhost } = SecurityProfile_ProfileType;
  const local = (path: string | undefined) => path?.startsWith('localhost/') === true;
  if (unfiltered !== undefined)
    refuse(findProfilePath(context) !== undefined, `seccomp profiles of one’s own ${unfiltered}`);
  refuse(apparmor?.profileType === Localhost || local(apparmorProfile), 'AppArmor profiles of one’s own');
  const hasLabels = selinuxOptions !== undefined && Object.values(selinuxOptions).join('') !== '';
  // Where the kernel heeds none they are no promise, and other runtimes pass over them.
  refuse(hasLabels && existsSync(SELINUX), 'SELinux options');
  const userns = namespaceOptions?.usernsOptions;
  refuse(
    userns !== undefined && userns.mode !== NamespaceMode.NODE,
    'user namespaces: containers have the users of the node; run such pods on containerd 2 or CRI-O',
  );
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
