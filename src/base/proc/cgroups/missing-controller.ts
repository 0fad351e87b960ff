import { systemCodeOf } from '../../errors/system-code.js';

/** Why groups lack a controller of cgroup v2. */
export type MissingReason =
  /** The top of the tree does not list it. */
  | 'not offered'
  /** A group on the path has processes, and then cannot delegate anything. */
  | 'processes'
  /** A group on the path is in threaded mode. */
  | 'threaded'
  /** This process may not write to a group on the path. */
  | 'not permitted'
  /** The tree is mounted read-only. */
  | 'read-only'
  /** The kernel refused for another reason. */
  | 'refused';

/** A controller of cgroup v2 that a group lacks, and the reason. */
export interface MissingController {
  readonly controller: string;
  /** The group that does not delegate it; `/` is the top of the tree as this process sees it. */
  readonly group: string;
  readonly reason: MissingReason;
  /** The kernel's error code, such as EBUSY; empty if it was not asked. */
  readonly code: string;
}

/** The purpose of a controller for pods. */
const PURPOSE: Readonly<Record<string, string>> = {
  cpu: 'weights and limits of cpu',
  memory: 'limits of memory, and its use by pod',
  pids: 'limits of processes',
  cpuset: 'cores of their own',
  io: 'weights and limits of disks, and their use by pod',
  hugetlb: 'limits of huge pages',
};
const REASONS: Readonly<Record<string, MissingReason>> = {
  EBUSY: 'processes',
  EOPNOTSUPP: 'threaded',
  ENOTSUP: 'threaded',
  EACCES: 'not permitted',
  EPERM: 'not permitted',
  EROFS: 'read-only',
};

/** Interprets a failed write of a controller to `cgroup.subtree_control` of `group`. */
export function toMissing(controller: string, group: string, error: unknown): MissingController {
  const code = systemCodeOf(error);
  return { controller, group, reason: REASONS[code] ?? 'refused', code };
}

/** What pods have to do without, and why, in one sentence. */
export function describeMissing({ controller, group, reason, code }: MissingController): string {
  const lack = `the controller ${controller} (${PURPOSE[controller] ?? 'its limits'})`;
  switch (reason) {
    case 'not offered':
      return `${lack} is not in cgroup.controllers of the topmost cgroup`;
    case 'processes':
      return `${lack} cannot be enabled in the cgroup ${group}, which has processes of its own: only one without hands controllers down`;
    case 'threaded':
      return `${lack} cannot be enabled in the cgroup ${group}, which is in threaded mode`;
    case 'not permitted':
      return `${lack} cannot be enabled in the cgroup ${group}: this user may not write to it`;
    case 'read-only':
      return `${lack} cannot be enabled in the cgroup ${group}: the tree is mounted read-only`;
    case 'refused':
      return `${lack} cannot be enabled in the cgroup ${group}: the kernel answers ${code}`;
  }
}

/** How to enable a missing controller, in one sentence. */
export function remedyOf({ controller, group, reason }: MissingController): string {
  const folder = `/sys/fs/cgroup${group === '/' ? '' : group}`;
  const command = `"echo +${controller} > ${folder}/cgroup.subtree_control"`;
  switch (reason) {
    case 'not offered':
      return `See its line in /proc/cgroups: boot the kernel with cgroup_enable=${controller}, without cgroup_disable=${controller}, and without a cgroup v1 tree that takes it; in a container, start that with all controllers of the machine.`;
    case 'processes':
      return `Move the processes that ${folder}/cgroup.procs lists into a cgroup below it, or name another place with --cgroup-root; podloop tries again with the next pod.`;
    case 'threaded':
      return `Name a cgroup in domain mode with --cgroup-root: cgroup.type says which it is.`;
    case 'not permitted':
      return `Run podloop as root, or have root delegate it: Delegate=cpu cpuset io memory pids in the unit (of a user: in user@.service), or ${command}.`;
    case 'read-only':
      return 'Mount it read-write: "mount -o remount,rw /sys/fs/cgroup", or start the container that podloop runs in so that it is (privileged, with a cgroup namespace of its own).';
    case 'refused':
      return `Try ${command}, and see the log of the kernel (dmesg).`;
  }
}
