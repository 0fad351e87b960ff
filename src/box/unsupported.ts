/**
 * What a request may ask for that plain processes cannot give: where there is no isolation. Nothing of it is dropped
 * in silence when it is a promise about safety or data: it is refused, and the sentence says what is missing.
 *
 * Accepted without effect, since agents always send them and docs/reference/embedded-runtime.md says so: host name,
 * DNS, port mappings, masked paths, namespace modes, runtime-default profiles.
 *
 * @module
 */
import { userInfo } from 'node:os';
import {
  type ContainerConfig,
  type LinuxContainerSecurityContext,
  type LinuxSandboxSecurityContext,
  type PodSandboxConfig,
} from '#watch/messages';
import { checkAnyContainer, checkAnySandbox, refuse } from './request-checks.js';

type SharedContext = Pick<
  LinuxSandboxSecurityContext & LinuxContainerSecurityContext,
  'runAsUser' | 'runAsGroup' | 'supplementalGroups' | 'readonlyRootfs'
>;

/** Throws when a sandbox is asked to be what it cannot be without isolation. */
export function checkPlainSandbox(config: PodSandboxConfig): void {
  checkAnySandbox(config, 'without isolation');
  const { sysctls = {}, securityContext } = config.linux ?? {};
  refuse(Object.keys(sysctls).length > 0, 'sysctls without isolation: pods share the host’s namespaces');
  if (securityContext !== undefined) checkSecurityContext(securityContext);
}

/** Throws when a container is asked to be what it cannot be without isolation, or cannot be at all. */
export function checkPlainContainer(config: ContainerConfig): void {
  refuse(config.mounts.length > 0, 'mounts without isolation: containers see the host’s own files');
  refuse(config.devices.length > 0, 'devices without isolation: containers see the host’s own /dev');
  if (config.linux?.securityContext !== undefined) checkContainerContext(config.linux.securityContext);
  checkAnyContainer(config, 'without isolation');
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
    `run_as_username without isolation: all run as ${username}`,
  );
  refuse(capabilities > 0, 'capabilities without isolation: containers have those of the runtime');
  refuse(context.noNewPrivs, 'no_new_privs without isolation');
}

function checkSecurityContext(context: SharedContext): void {
  const { uid, gid } = userInfo();
  const { runAsUser, runAsGroup, supplementalGroups } = context;
  refuse(
    runAsUser !== undefined && Number(runAsUser.value) !== uid,
    `run_as_user without isolation: all run as user ${uid}`,
  );
  refuse(
    runAsGroup !== undefined && Number(runAsGroup.value) !== gid,
    `run_as_group without isolation: all run as group ${gid}`,
  );
  refuse(
    supplementalGroups.length > 0,
    'supplemental_groups without isolation: containers have those of the runtime',
  );
  refuse(context.readonlyRootfs, 'readonly_rootfs without isolation: the root is the host’s');
}
