import { type OptionsTable } from './options-table.js';

/** The options for what the agent demands of the machine, and sets on it. */
export interface MachineOptions {
  readonly failSwapOn: boolean;
  readonly failCgroupV1: boolean;
  readonly protectKernelDefaults: boolean;
  readonly makeIptablesUtilChains: boolean;
  /** Undefined: it stays as it is. */
  readonly oomScoreAdj: number | undefined;
  /** Undefined: the limit stays as it is. */
  readonly maxOpenFiles: number | undefined;
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
  makeIptablesUtilChains: {
    type: 'switch',
    default: false,
    flag: '--make-iptables-util-chains',
    group: 'Node and resources',
    field: 'makeIPTablesUtilChains',
    fromConfig: (config) => config.makeIPTablesUtilChains,
    doc: 'Make the kubelet’s chains of iptables, KUBE-IPTABLES-HINT and KUBE-FIREWALL, for network plugins that rely on them',
  },
  oomScoreAdj: {
    type: 'limit',
    default: undefined,
    defaultText: 'that of the unit or shell that starts it',
    flag: '--oom-score-adj',
    group: 'Node and resources',
    field: 'oomScoreAdj',
    fromConfig: (config) => config.oomScoreAdj,
    doc: 'How early the kernel kills the agent when memory runs out, from -1000 for never to 1000',
  },
  maxOpenFiles: {
    type: 'limit',
    default: undefined,
    defaultText: 'that of the unit or shell that starts it',
    flag: '--max-open-files',
    group: 'Node and resources',
    field: 'maxOpenFiles',
    fromConfig: (config) => config.maxOpenFiles,
    doc: 'Maximum number of files that the agent may have open',
  },
};
