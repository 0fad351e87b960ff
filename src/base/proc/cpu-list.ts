/**
 * Reads a list of processors as the kernel writes it, such as `0-3,8,10-11`; undefined when it is none.
 *
 * Source: https://docs.kernel.org/admin-guide/cputopology.html
 */
export function parseCpuList(text: string): ReadonlySet<number> | undefined {
  const cpus = new Set<number>();
  for (const part of text.split(',')) {
    const [, from, to = from] = /^\s*(\d{1,5})(?:-(\d{1,5}))?\s*$/.exec(part) ?? [];
    if (from === undefined || Number(to) < Number(from)) return undefined;
    for (let cpu = Number(from); cpu <= Number(to); cpu++) cpus.add(cpu);
  }
  return cpus;
}
