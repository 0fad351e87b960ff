import { describe, expect, it } from 'vitest';
import { findUnmetRequirements, KERNEL_SETTINGS, type RequirementFacts } from './machine-requirements.js';

const ALL = { failSwapOn: true, failCgroupV1: true, protectKernelDefaults: true };
const NONE = { failSwapOn: false, failCgroupV1: false, protectKernelDefaults: false };
const HEADINGS = 'Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n';
const GOOD: RequirementFacts = {
  swaps: HEADINGS,
  mountinfo: '30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n',
  settings: KERNEL_SETTINGS,
};
const BAD: RequirementFacts = {
  swaps: `${HEADINGS}/dev/sda2   partition\t1048572\t0\t-2\n/swapfile file 1 0 -3\n`,
  mountinfo: '31 30 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n',
  settings: { ...KERNEL_SETTINGS, 'vm/overcommit_memory': '0', 'kernel/panic': '0' },
};

describe('a machine', () => {
  it('is refused for each thing that the options do not allow, with what to do', () => {
    expect(findUnmetRequirements(ALL, BAD)).toEqual([
      '--fail-swap-on: this machine swaps to /dev/sda2, /swapfile; run swapoff -a, or leave the flag out',
      '--fail-cgroupv1: this machine has cgroup v1; boot it with systemd.unified_cgroup_hierarchy=1, or leave the flag out',
      '--protect-kernel-defaults: vm.overcommit_memory is 0, not 1, kernel.panic is 0, not 10; run sysctl -w vm.overcommit_memory=1 kernel.panic=10, or leave the flag out',
    ]);
  });

  it('is taken when nothing is required, or all of it is there', () => {
    expect(findUnmetRequirements(NONE, BAD)).toEqual([]);
    expect(findUnmetRequirements(ALL, GOOD)).toEqual([]);
  });

  it('is not refused for what it does not show', () => {
    expect(findUnmetRequirements(ALL, { swaps: '', mountinfo: '', settings: {} })).toEqual([]);
  });

  it.each(Object.keys(KERNEL_SETTINGS))('is refused for a single setting: %s', (name) => {
    const [problem] = findUnmetRequirements(ALL, { ...GOOD, settings: { ...KERNEL_SETTINGS, [name]: '7' } });
    expect(problem).toContain(`${name.replaceAll('/', '.')} is 7, not ${KERNEL_SETTINGS[name]}`);
  });
});
