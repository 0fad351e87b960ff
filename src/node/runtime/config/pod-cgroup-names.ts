import { type NodePod } from '#kube/pod/node-pod.js';
import { computePodQos } from '#kube/pod/pod-qos.js';

/** What creates cgroups: the runtime itself, by their paths, or systemd, as slices. */
export const CGROUP_DRIVERS = ['cgroupfs', 'systemd'] as const;

/** See {@link CGROUP_DRIVERS}. */
export type CgroupDriver = (typeof CGROUP_DRIVERS)[number];

/**
 * Names of cgroups from the top of a tree downwards, independent of the driver: `['kubepods', 'burstable']`.
 */
export type CgroupNames = readonly string[];

/** Below a kubelet's `cgroupRoot`: all pods. */
const ALL_PODS = 'kubepods';
const SLICE = '.slice';
const POD = 'pod';

/**
 * The kubelet's names for the groups of QoS classes; guaranteed pods are beside them, directly below
 * `kubepods`.
 */
export const QOS_GROUPS = ['burstable', 'besteffort'] as const;

/** The names in a path as people write it: `/podloop/x` or `podloop/x`; none for the top. */
export function toCgroupNames(path: string): CgroupNames {
  return path.split('/').filter((name) => name !== '');
}

/** Why a path is no valid root; undefined when it is one. */
export function checkCgroupRoot(path: string): string | undefined {
  const isFine = toCgroupNames(path).every(
    (name) => /^[-A-Za-z0-9_.:@]{1,100}$/.test(name) && !/^\.+$/.test(name),
  );
  return isFine && path.length <= 1000 ? undefined : 'must be the path of a cgroup, such as /pods';
}

/** The group of all pods below a root. */
export function allPodsGroup(root: CgroupNames): CgroupNames {
  return [...root, ALL_PODS];
}

/** The group of a pod in the kubelet's layout: by its QoS class, then by its uid. Pure. */
export function podGroup(pod: NodePod, root: CgroupNames): CgroupNames {
  const { metadata, spec } = pod;
  const qos = computePodQos(spec);
  const above = qos === 'Guaranteed' ? [] : [qos.toLowerCase()];
  return [...allPodsGroup(root), ...above, `${POD}${metadata.uid}`];
}

/**
 * A group in the form of a driver: its path below the top of each tree. Pure.
 *
 * systemd reads a dash as one level down. So each group has the names of all groups above it, and their own
 * dashes become underscores: `/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice`.
 * Runtimes use only the last name.
 *
 * Source: systemd.slice(5); LinuxPodSandboxConfig.cgroup_parent of CRI v1.
 */
export function toCgroupPath(names: CgroupNames, driver: CgroupDriver): string {
  if (driver === 'cgroupfs') return `/${names.join('/')}`;
  const escaped = names.map(escapeForSystemd);
  return `/${escaped.map((_name, at) => `${escaped.slice(0, at + 1).join('-')}${SLICE}`).join('/')}`;
}

/** The uid of a pod by the last part of its group's path; undefined for any other group. */
export function findPodOfGroup(name: string, driver: CgroupDriver): string | undefined {
  const own = driver === 'cgroupfs' ? name : name.endsWith(SLICE) ? name.slice(0, -SLICE.length) : '';
  const last = driver === 'cgroupfs' ? own : own.slice(own.lastIndexOf('-') + 1);
  const uid = last.startsWith(POD) ? last.slice(POD.length) : '';
  return uid === '' ? undefined : uid;
}

/** A name in the form that it has within a slice's name. */
export function escapeForSystemd(name: string): string {
  return name.replaceAll('-', '_');
}
