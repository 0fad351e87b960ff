import { basename } from 'node:path';
import { type CgroupIo } from '#base/proc/cgroups/cgroup-io.js';
import { CgroupLayout } from '#base/proc/cgroups/cgroup-layout.js';

/** Files that a kernel has for every group or for none, depending on its build and boot options. */
const OF_ALL_OR_NONE = new Set([
  ...['cpuacct.usage_user', 'cpuacct.usage_sys', 'memory.kmem.usage_in_bytes', 'memory.memsw.limit_in_bytes'],
  ...['memory.peak', 'memory.swap.current', 'memory.swap.max'],
  ...['cpu.pressure', 'memory.pressure', 'io.pressure'],
  ...['blkio.throttle.io_service_bytes_recursive', 'blkio.throttle.io_serviced_recursive'],
]);
/** How many groups must lack a file before it counts as missing: some may just have ended. */
const LOOKS = 8;

/**
 * A layout for reading the groups of a whole node once: files that the first groups lack are skipped in all
 * others.
 *
 * Finding that a file is missing costs as much as reading three.
 */
export function sparseLayout({ io, hierarchies }: CgroupLayout): CgroupLayout {
  // How often a file was missing; Infinity once it was there.
  const missesOf = new Map<string, number>();
  const read = (path: string): string | undefined => {
    const name = basename(path);
    if (!OF_ALL_OR_NONE.has(name)) return io.read(path);
    const misses = missesOf.get(name) ?? 0;
    if (misses === LOOKS) return undefined;
    const text = io.read(path);
    missesOf.set(name, text === undefined ? misses + 1 : Infinity);
    return text;
  };
  const sparse: CgroupIo = {
    read,
    write: (path, text) => io.write(path, text),
    makeGroup: (path) => io.makeGroup(path),
    removeGroup: (path) => io.removeGroup(path),
    children: (path) => io.children(path),
  };
  return new CgroupLayout(sparse, hierarchies);
}
