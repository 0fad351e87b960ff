import { FORBIDDABLE } from '#kube/node/node-policy.js';
import { CGROUP_DRIVERS, type CgroupDriver } from '../runtime/config/pod-cgroup-names.js';
import { type OptionsTable } from './options-table.js';

/** What an agent is told of the pods that it runs: how many, within what, with which names, and what none may ask for. */
export interface PodOptions {
  readonly maxPods: number;
  readonly podsPerCore: number;
  readonly systemReserved: Readonly<Record<string, string>>;
  readonly kubeReserved: Readonly<Record<string, string>>;
  /** Empty for the one that the runtime has. */
  readonly cgroupDriver: CgroupDriver | '';
  /** Empty for one of the agent's own. */
  readonly cgroupRoot: string;
  readonly cgroupsPerQos: boolean;
  /** Not above 0: no limit. */
  readonly podPidsLimit: number;
  readonly cpuCfsQuota: boolean;
  readonly cpuCfsQuotaPeriodMs: number;
  readonly resolvConf: string;
  readonly clusterDns: readonly string[];
  /** Empty where there is no cluster. */
  readonly clusterDomain: string;
  readonly seccompDefault: boolean;
  readonly allowedUnsafeSysctls: readonly string[];
  /** Words of {@link FORBIDDABLE}. */
  readonly forbid: readonly string[];
  /** Each as `/path` or `/path:ro`. Empty for any. */
  readonly allowedHostPaths: readonly string[];
}

/** The rows of {@link PodOptions}. */
export const POD_OPTIONS: OptionsTable<PodOptions> = {
  maxPods: {
    type: 'count',
    default: 110,
    flag: '--max-pods',
    field: 'maxPods',
    fromConfig: (config) => config.maxPods,
    doc: 'How many pods may run at once',
  },
  podsPerCore: {
    type: 'count',
    default: 0,
    flag: '--pods-per-core',
    field: 'podsPerCore',
    fromConfig: (config) => config.podsPerCore,
    doc: 'How many pods may run at once per core; 0 for no such limit',
  },
  systemReserved: {
    type: 'map',
    default: {},
    flag: '',
    field: 'systemReserved',
    fromConfig: (config) => config.systemReserved,
    doc: 'What the system keeps of cpu and memory, so that pods cannot ask for it',
  },
  kubeReserved: {
    type: 'map',
    default: {},
    flag: '',
    field: 'kubeReserved',
    fromConfig: (config) => config.kubeReserved,
    doc: 'What agents and runtimes keep of cpu and memory, so that pods cannot ask for it',
  },
  cgroupDriver: {
    type: ['', ...CGROUP_DRIVERS],
    default: '',
    flag: '--cgroup-driver',
    field: 'cgroupDriver',
    fromConfig: (config) => config.cgroupDriver,
    doc: 'Cgroup driver of new pods, cgroupfs or systemd (default: the one that the runtime has)',
  },
  cgroupRoot: {
    type: 'text',
    default: '',
    flag: '--cgroup-root',
    field: 'cgroupRoot',
    fromConfig: (config) => config.cgroupRoot,
    doc: 'Group above those of pods; one of this agent alone unless told, as a kubelet ends pods in its own that it does not know',
  },
  cgroupsPerQos: {
    type: 'switch',
    default: true,
    flag: '--cgroups-per-qos',
    field: 'cgroupsPerQOS',
    fromConfig: (config) => config.cgroupsPerQOS,
    doc: 'Give each pod a cgroup, by its class of service; else the runtime puts containers where it wants',
  },
  podPidsLimit: {
    type: 'limit',
    default: -1,
    flag: '--pod-max-pids',
    field: 'podPidsLimit',
    fromConfig: (config) => config.podPidsLimit,
    doc: 'How many processes and threads a pod may have; -1 for no limit',
  },
  cpuCfsQuota: {
    type: 'switch',
    default: true,
    flag: '--cpu-cfs-quota',
    field: 'cpuCFSQuota',
    fromConfig: (config) => config.cpuCFSQuota,
    doc: 'Hold containers to their cpu limits',
  },
  cpuCfsQuotaPeriodMs: {
    type: 'duration',
    default: 100,
    flag: '--cpu-cfs-quota-period',
    field: 'cpuCFSQuotaPeriod',
    fromConfig: (config) => config.cpuCFSQuotaPeriodMs,
    doc: 'Over which time cpu limits are held',
  },
  resolvConf: {
    type: 'text',
    default: '/etc/resolv.conf',
    flag: '--resolv-conf',
    field: 'resolvConf',
    fromConfig: (config) => config.resolvConf,
    doc: 'What containers get as /etc/resolv.conf; empty for none',
  },
  clusterDns: {
    type: 'list',
    default: [],
    flag: '--cluster-dns',
    field: 'clusterDNS',
    fromConfig: (config) => config.clusterDNS,
    doc: 'Addresses of name servers for pods with dnsPolicy ClusterFirst, which ask those of the node where there are none',
  },
  clusterDomain: {
    type: 'text',
    default: '',
    flag: '--cluster-domain',
    field: 'clusterDomain',
    fromConfig: (config) => config.clusterDomain,
    doc: 'Domain that pods search for names of the cluster, and that ends their full names',
  },
  seccompDefault: {
    type: 'switch',
    default: false,
    flag: '--seccomp-default',
    field: 'seccompDefault',
    fromConfig: (config) => config.seccompDefault,
    doc: 'Give containers that ask for no seccomp profile the default one of the runtime',
  },
  allowedUnsafeSysctls: {
    type: 'list',
    default: [],
    flag: '--allowed-unsafe-sysctls',
    field: 'allowedUnsafeSysctls',
    fromConfig: (config) => config.allowedUnsafeSysctls,
    doc: 'Sysctls that pods may set besides the safe ones; a * at the end stands for any',
  },
  forbid: {
    type: 'list',
    default: [],
    flag: '--forbid',
    doc: `What pods may not ask for, with commas between: ${FORBIDDABLE.join(', ')}; pods that do are not run`,
  },
  allowedHostPaths: {
    type: 'list',
    default: [],
    flag: '--allowed-host-paths',
    doc: 'Paths of the node that pods may mount with hostPath, with all below them, and no others; with :ro behind them read-only alone',
  },
};
