import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PodloopError } from '#base/errors/errors.js';
import { findCgroupMounts } from '#base/proc/cgroups/cgroup-mounts.js';
import { readOwnMountinfo } from '#base/proc/mountinfo.js';
import { type MachineOptions } from '../../options/machine-options.js';

/** The options that refuse machines. */
export type MachineDemands = Pick<MachineOptions, 'failSwapOn' | 'failCgroupV1' | 'protectKernelDefaults'>;

/** What of the machine they are about. */
export interface RequirementFacts {
  /** The text of /proc/swaps. */
  readonly swaps: string;
  /** The text of /proc/self/mountinfo. */
  readonly mountinfo: string;
  /** The present values of {@link KERNEL_SETTINGS}; undefined for what cannot be read. */
  readonly settings: Readonly<Record<string, string | undefined>>;
}

/** The settings of the kernel with which a kubelet runs, by their names below /proc/sys. */
export const KERNEL_SETTINGS: Readonly<Record<string, string>> = {
  'vm/overcommit_memory': '1',
  'vm/panic_on_oom': '0',
  'kernel/panic': '10',
  'kernel/panic_on_oops': '1',
  'kernel/keys/root_maxkeys': '1000000',
  'kernel/keys/root_maxbytes': '25000000',
};

/** Rejects with OPTION_INVALID when this machine is one that the options refuse, with what to do. */
export async function checkMachine(options: MachineDemands): Promise<void> {
  const { failSwapOn, failCgroupV1, protectKernelDefaults } = options;
  if (!failSwapOn && !failCgroupV1 && !protectKernelDefaults) return;
  const problems = findUnmetRequirements(options, await readFacts());
  if (problems.length > 0) throw new PodloopError('OPTION_INVALID', problems.join('; '));
}

/** What the machine lacks of what the options require, with what to do. Pure. */
export function findUnmetRequirements(
  { failSwapOn, failCgroupV1, protectKernelDefaults }: MachineDemands,
  { swaps, mountinfo, settings }: RequirementFacts,
): string[] {
  // The first line has the headings.
  const areas = swaps
    .split('\n')
    .slice(1)
    .flatMap((line) => line.split(/\s/, 1))
    .filter((name) => name !== '');
  const hasV1 = findCgroupMounts(mountinfo).some(({ version }) => version === 1);
  const wrong = Object.entries(KERNEL_SETTINGS).filter(([name, wanted]) => {
    const present = settings[name];
    return present !== undefined && present !== wanted;
  });
  const sysctls = wrong.map(
    ([name, wanted]) => `${name.replaceAll('/', '.')} is ${settings[name]}, not ${wanted}`,
  );
  const remedy = wrong.map(([name, wanted]) => `${name.replaceAll('/', '.')}=${wanted}`).join(' ');
  return [
    ...(failSwapOn && areas.length > 0
      ? [`--fail-swap-on: this machine swaps to ${areas.join(', ')}; run swapoff -a, or leave the flag out`]
      : []),
    ...(failCgroupV1 && hasV1
      ? [
          '--fail-cgroupv1: this machine has cgroup v1; boot it with systemd.unified_cgroup_hierarchy=1, or leave the flag out',
        ]
      : []),
    ...(protectKernelDefaults && wrong.length > 0
      ? [`--protect-kernel-defaults: ${sysctls.join(', ')}; run sysctl -w ${remedy}, or leave the flag out`]
      : []),
  ];
}

async function readFacts(): Promise<RequirementFacts> {
  const read = async (file: string): Promise<string | undefined> =>
    readFile(file, 'latin1').catch(() => undefined);
  const settings = await Promise.all(
    Object.keys(KERNEL_SETTINGS).map(async (name): Promise<[string, string | undefined]> => [
      name,
      (await read(join('/proc/sys', name)))?.trim(),
    ]),
  );
  return {
    swaps: (await read('/proc/swaps')) ?? '',
    mountinfo: await readOwnMountinfo().catch(() => ''),
    settings: Object.fromEntries(settings),
  };
}
