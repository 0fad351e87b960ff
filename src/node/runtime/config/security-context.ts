import { join } from 'node:path';

import { cri, type IdRange } from '#watch';
import { type Container, type SecurityProfile, type SeLinuxOptions } from '#kube/container/container.js';
import { type Pod, type PodSpec } from '#kube/pod/pod.js';

// Parts of the kernel that unprivileged containers do not see: the list that kubelets and runtimes share.
const MASKED_PATHS = [
  '/proc/asound',
  '/proc/acpi',
  '/proc/interrupts',
  '/proc/kcore',
  '/proc/keys',
  '/proc/latency_stats',
  '/proc/timer_list',
  '/proc/timer_stats',
  '/proc/sched_debug',
  '/proc/scsi',
  '/sys/firmware',
  '/sys/devices/virtual/powercap',
];
const READ_ONLY_PATHS = ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'];

/**
 * The namespaces that a pod shares with the node, and its containers with each other. Pure.
 *
 * `idRange`: the ids that its users have on the node; undefined if they are the node's own.
 */
export function computeNamespaces(spec: PodSpec, idRange?: IdRange): cri.NamespaceOption {
  const { POD, CONTAINER, NODE } = cri.NamespaceMode;
  const shared = spec.shareProcessNamespace === true ? POD : CONTAINER;
  return cri.NamespaceOption.fromPartial({
    network: spec.hostNetwork === true ? NODE : POD,
    ipc: spec.hostIPC === true ? NODE : POD,
    pid: spec.hostPID === true ? NODE : shared,
    ...(idRange && { usernsOptions: { mode: POD, ...toIdMappings(idRange) } }),
  });
}

/** The ids of a pod from 0 on, for users and groups alike. */
export function toIdMappings({ hostId, length }: IdRange): Pick<cri.UserNamespace, 'uids' | 'gids'> {
  const mappings = [{ hostId, containerId: 0, length }];
  return { uids: mappings, gids: mappings };
}

/** Why a pod can have no user namespace, in the kubelet's words; `handler` is empty for the runtime's default. */
export function describeMissingUsers(handler: string): string {
  const who = handler === '' ? 'runtime' : `RuntimeClass handler ${JSON.stringify(handler)}`;
  return `can't set \`spec.hostUsers: false\`, ${who} does not support user namespaces`;
}

/** CRI's security context of a pod's sandbox. Pure. */
export function computeSandboxSecurity({ spec }: Pod, idRange?: IdRange): cri.LinuxSandboxSecurityContext {
  const context = spec.securityContext ?? {};
  return cri.LinuxSandboxSecurityContext.fromPartial({
    namespaceOptions: computeNamespaces(spec, idRange),
    // A runtime may run the sandbox's own process with fewer privileges than any container needs.
    privileged: allContainers(spec).some(({ securityContext }) => securityContext?.privileged === true),
    runAsUser: toInt64(context.runAsUser),
    runAsGroup: toInt64(context.runAsGroup),
    supplementalGroups: supplementalGroups(spec),
    supplementalGroupsPolicy: groupsPolicy(spec),
    selinuxOptions: toSeLinux(context.seLinuxOptions),
    // A pod's profiles are for its containers; the runtime's default is enough for the sandbox's own process.
    seccomp: toSeccomp({ type: 'RuntimeDefault' }, ''),
  });
}

/** The inputs of a container's security context beside the pod. */
export interface ContainerSecurityFacts {
  /** The folder of seccomp profiles. */
  readonly seccompDir: string;
  /** Whether containers that ask for no seccomp profile get the runtime's default one. */
  readonly seccompDefault: boolean;
  /** Further paths of this machine that containers do not see. */
  readonly maskedPaths: readonly string[];
  /** The user of the image. */
  readonly imageUser?: ImageUser | undefined;
  /** The ids that the pod's users have on the node (default: they are the node's own). */
  readonly idRange?: IdRange | undefined;
}

/** CRI's security context of a container: its own settings, otherwise those of its pod. Pure. */
export function computeContainerSecurity(
  { spec }: Pod,
  container: Container,
  { seccompDir, seccompDefault, maskedPaths, imageUser, idRange }: ContainerSecurityFacts,
): cri.LinuxContainerSecurityContext {
  const own = container.securityContext ?? {};
  const pod = spec.securityContext ?? {};
  const privileged = own.privileged === true;
  // As with a kubelet: a container that asks for none gets none, unless there is a default.
  const otherwise = { type: seccompDefault ? 'RuntimeDefault' : 'Unconfined' } as const;
  const isUnmasked = privileged || own.procMount === 'Unmasked';
  const capabilities = own.capabilities && {
    addCapabilities: (own.capabilities.add ?? []).map(toCapability),
    dropCapabilities: (own.capabilities.drop ?? []).map(toCapability),
  };
  const runAsUser = own.runAsUser ?? pod.runAsUser;
  const runAsGroup = own.runAsGroup ?? pod.runAsGroup;
  const user = runAsUser === undefined ? userOfImage(imageUser, runAsGroup) : { uid: BigInt(runAsUser) };
  return cri.LinuxContainerSecurityContext.fromPartial({
    namespaceOptions: computeNamespaces(spec, idRange),
    ...(capabilities && { capabilities }),
    privileged,
    readonlyRootfs: own.readOnlyRootFilesystem === true,
    runAsUser: toInt64(user.uid),
    runAsUsername: user.username ?? '',
    runAsGroup: toInt64(runAsGroup),
    supplementalGroups: supplementalGroups(spec),
    supplementalGroupsPolicy: groupsPolicy(spec),
    noNewPrivs: own.allowPrivilegeEscalation === false,
    maskedPaths: isUnmasked ? [] : [...MASKED_PATHS, ...maskedPaths],
    readonlyPaths: isUnmasked ? [] : READ_ONLY_PATHS,
    selinuxOptions: toSeLinux(own.seLinuxOptions ?? pod.seLinuxOptions),
    seccomp: toSeccomp(own.seccompProfile ?? pod.seccompProfile ?? otherwise, seccompDir),
    apparmor: toAppArmor(own.appArmorProfile ?? pod.appArmorProfile),
  });
}

/** The user that an image names, if any. */
export interface ImageUser {
  readonly uid: bigint | undefined;
  readonly username: string;
}

/**
 * Why a container that must not run as root might do so, in the kubelet's words; undefined when it will not,
 * or may. Pure.
 */
export function findRootUser(pod: Pod, container: Container, image: ImageUser): string | undefined {
  const own = container.securityContext ?? {};
  const context = pod.spec.securityContext ?? {};
  if ((own.runAsNonRoot ?? context.runAsNonRoot) !== true) return undefined;
  const where = `(pod: "${pod.metadata.name}_${pod.metadata.namespace ?? ''}(${pod.metadata.uid ?? ''})", container: ${container.name})`;
  const asked = own.runAsUser ?? context.runAsUser;
  if (asked !== undefined) {
    return asked === 0 ? `container's runAsUser breaks non-root policy ${where}` : undefined;
  }
  if (image.uid === undefined && image.username !== '') {
    return `container has runAsNonRoot and image has non-numeric user (${image.username}), cannot verify user is non-root ${where}`;
  }
  return (image.uid ?? 0n) === 0n
    ? `container has runAsNonRoot and image will run as root ${where}`
    : undefined;
}

function allContainers(spec: PodSpec): readonly Container[] {
  const { containers, initContainers = [], ephemeralContainers = [] } = spec;
  return [...initContainers, ...containers, ...ephemeralContainers];
}

function supplementalGroups({ securityContext = {} }: PodSpec): bigint[] {
  const { fsGroup, supplementalGroups = [] } = securityContext;
  return [...(fsGroup === undefined ? [] : [fsGroup]), ...supplementalGroups].map(BigInt);
}

function groupsPolicy({ securityContext }: PodSpec): cri.SupplementalGroupsPolicy {
  const { Merge, Strict } = cri.SupplementalGroupsPolicy;
  return securityContext?.supplementalGroupsPolicy === 'Strict' ? Strict : Merge;
}

/**
 * The image's user, for the runtime to enforce.
 *
 * A runtime ignores a group without a user. With a group, a container runs as the image's user, which is root
 * if the image names none.
 */
function userOfImage(
  image: ImageUser | undefined,
  runAsGroup: number | undefined,
): { readonly uid?: bigint; readonly username?: string } {
  if (image?.uid !== undefined) return { uid: image.uid };
  if (image !== undefined && image.username !== '') return { username: image.username };
  return runAsGroup === undefined ? {} : { uid: 0n };
}

/** Removes the prefix: some runtimes add it themselves, and a name with two of them is invalid. */
function toCapability(name: string): string {
  return name.replace(/^CAP_/i, '');
}

function toInt64(value: number | bigint | undefined): { value: bigint } | undefined {
  return value === undefined ? undefined : { value: BigInt(value) };
}

function toSeLinux(options: SeLinuxOptions | undefined): cri.SELinuxOption | undefined {
  return options && cri.SELinuxOption.fromPartial({ ...options });
}

function toSeccomp(
  { type, localhostProfile = '' }: SecurityProfile,
  seccompDir: string,
): cri.SecurityProfile {
  const profileType = cri.SecurityProfile_ProfileType[type];
  return { profileType, localhostRef: type === 'Localhost' ? join(seccompDir, localhostProfile) : '' };
}

function toAppArmor(profile: SecurityProfile | undefined): cri.SecurityProfile | undefined {
  if (profile === undefined) return undefined;
  const { type, localhostProfile = '' } = profile;
  return {
    profileType: cri.SecurityProfile_ProfileType[type],
    localhostRef: type === 'Localhost' ? localhostProfile : '',
  };
}
