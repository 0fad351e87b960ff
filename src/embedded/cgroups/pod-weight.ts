import { join } from 'node:path';
import { type CgroupLayout } from './cgroup-layout.js';

const HIGHEST = { 1: 262_144, 2: 10_000 } as const;
const FILE = { 1: 'cpu.shares', 2: 'cpu.weight' } as const;

/**
 * Gives a pod's group the sum of the CPU weights of its containers.
 *
 * Without it, pods would share the CPU evenly, however much their containers asked for: weights count only between
 * groups of the same parent.
 */
export async function balancePodWeight(layout: CgroupLayout, pod: string): Promise<void> {
  const cpu = layout.find('cpu');
  if (cpu === undefined) return;
  const file = FILE[cpu.version];
  const path = join(cpu.mountpoint, pod);
  let sum = 0;
  for (const name of await layout.io.children(path)) {
    sum += Number(layout.io.read(join(path, name, file)) ?? 0);
  }
  const weight = Math.min(HIGHEST[cpu.version], sum);
  // The group may be on its way out: nobody is left then to whom the weight matters.
  if (weight > 0) await layout.io.write(join(path, file), String(weight)).catch(() => undefined);
}
