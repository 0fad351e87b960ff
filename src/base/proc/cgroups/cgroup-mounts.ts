import { unescapeField } from '../mountinfo.js';

/** One tree of cgroups: version 1 has several, each with some controllers; version 2 has one for all. */
export interface Hierarchy {
  readonly version: 1 | 2;
  readonly mountpoint: string;
  /** Version 1's names: cpu, cpuacct, cpuset, memory, pids, freezer, hugetlb, blkio; and io on version 2. */
  readonly controllers: readonly string[];
}

/** The controllers of version 1 that are used here. */
const V1_CONTROLLERS = ['memory', 'cpu', 'cpuacct', 'cpuset', 'pids', 'freezer', 'blkio', 'hugetlb'];
/** The controllers of version 2 that are used here. Killing and freezing need none there. */
export const V2_CONTROLLERS: readonly string[] = ['cpu', 'memory', 'pids', 'cpuset', 'io', 'hugetlb'];

/**
 * The mounted trees of cgroups, from the text of /proc/self/mountinfo: see proc_pid_mountinfo(5).
 *
 * A controller belongs to the first mount that has it. The tree of version 2 is returned without controllers,
 * as the tree itself lists them. Trees of version 1 without a controller that is used here (systemd's,
 * net_cls) are omitted.
 */
export function findCgroupMounts(mountinfo: string): readonly Hierarchy[] {
  const found: Hierarchy[] = [];
  const known = new Set<string>();
  for (const { version, mountpoint, options } of readCgroupMounts(mountinfo)) {
    const asked = version === 2 ? ['unified'] : options;
    const controllers = asked.filter((name) => version === 2 || V1_CONTROLLERS.includes(name));
    if (controllers.length === 0 || controllers.some((name) => known.has(name))) continue;
    for (const name of controllers) known.add(name);
    found.push({ version, mountpoint, controllers: version === 2 ? [] : controllers });
  }
  return found.sort((a, b) => rank(a) - rank(b));
}

/** The tree of version 2 where there is none of version 1 beside it; otherwise undefined. */
export function findUnifiedAlone(trees: readonly Hierarchy[]): Hierarchy | undefined {
  return trees.length === 1 && trees[0]!.version === 2 ? trees[0] : undefined;
}

/** The mount points of all trees, including those without a controller that is used here. */
export function findCgroupMountpoints(mountinfo: string): readonly string[] {
  return [...new Set(readCgroupMounts(mountinfo).map(({ mountpoint }) => mountpoint))];
}

function readCgroupMounts(
  mountinfo: string,
): { readonly version: 1 | 2; readonly mountpoint: string; readonly options: readonly string[] }[] {
  return mountinfo.split('\n').flatMap((line) => {
    const [place = '', system = ''] = line.split(' - ');
    const mountpoint = unescapeField(place.split(' ')[4] ?? '');
    const [type, , options = ''] = system.split(' ');
    const version = type === 'cgroup2' ? 2 : type === 'cgroup' ? 1 : undefined;
    if (version === undefined || mountpoint === '') return [];
    return [{ version, mountpoint, options: options.split(',') }];
  });
}

/** The memory controller's tree is first, as it is searched for groups after a crash. */
function rank({ version, controllers }: Hierarchy): number {
  if (version === 2) return V1_CONTROLLERS.length;
  return Math.min(...controllers.map((name) => V1_CONTROLLERS.indexOf(name)));
}
