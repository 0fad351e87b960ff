import { PodloopError } from '#base/errors/errors.js';
import { findCgroupMounts, findUnifiedAlone } from '#base/proc/cgroups/cgroup-mounts.js';

/**
 * Whether the kernel is to kill all of a container that needs more memory than its limit, as a kubelet decides: on cgroup v2 unless
 * `singleProcessOomKill` is true. Version 1 can kill one process alone, so false is an error there: OPTION_INVALID. Pure.
 *
 * `mountinfo`: the text of /proc/self/mountinfo.
 */
export function killsWholeContainer(singleProcessOomKill: boolean | undefined, mountinfo: string): boolean {
  const mounts = findCgroupMounts(mountinfo);
  if (findUnifiedAlone(mounts) !== undefined) return singleProcessOomKill !== true;
  if (singleProcessOomKill === false && mounts.length > 0)
    throw new PodloopError(
      'OPTION_INVALID',
      'singleProcessOOMKill: false needs cgroup v2, and this machine has v1; leave it out, or write true',
    );
  return false;
}
