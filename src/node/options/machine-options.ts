import { type OptionsTable } from './options-table.js';

/** The options for machines on which the agent refuses to start. */
export interface MachineOptions {
  readonly failSwapOn: boolean;
  readonly failCgroupV1: boolean;
  readonly protectKernelDefaults: boolean;
}

/** The rows of {@link MachineOptions}. */
export const MACHINE_OPTIONS: OptionsTable<MachineOptions> = {
  failSwapOn: {
    type: 'switch',
    default: false,
    flag: '--fail-swap-on',
    group: 'Node and resources',
    field: 'failSwapOn',
    fromConfig: (config) => config.failSwapOn,
    doc: 'Refuse to start on a machine that swaps',
  },
  failCgroupV1: {
    type: 'switch',
    default: false,
    flag: '--fail-cgroupv1',
    group: 'Node and resources',
    field: 'failCgroupV1',
    fromConfig: (config) => config.failCgroupV1,
    doc: 'Refuse to start on a machine with cgroup v1',
  },
  protectKernelDefaults: {
    type: 'switch',
    default: false,
    flag: '--protect-kernel-defaults',
    group: 'Node and resources',
    field: 'protectKernelDefaults',
    fromConfig: (config) => config.protectKernelDefaults,
    doc: 'Refuse to start on a machine whose kernel has other settings than a kubelet gives it; podloop changes none',
  },
};
