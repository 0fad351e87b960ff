import { FORBIDDABLE } from '#kube/node/node-policy.js';
import { CGROUP_DRIVERS, type CgroupDriver } from '../runtime/config/pod-cgroup-names.js';
import { type OptionsTable } from './options-table.js';

/** The options for pods: their limits, cgroups and DNS, and what they may not request. */
export interface PodOptions {
  readonly maxPods: number;
  readonly podsPerCore: number;
  /** Empty for the driver that the runtime reports. */
  readonly cgroupDriver: CgroupDriver | '';
  /** Empty for a cgroup of this agent alone. */
  readonly cgroupRoot: string;
  readonly cgroupsPerQos: boolean;
  /** Not above 0: no limit. */
  readonly podPidsLimit: number;
  /** Undefined for what the version of cgroups allows: false on version 2. */
  readonly singleProcessOomKill: boolean | undefined;
  /** How many ids a pod with users of its own gets. */
  readonly idsPerPod: number;
  readonly swapBehavior: 'NoSwap' | 'LimitedSwap';
  /** Undefined: containers are not slowed down before they reach their limits. */
  readonly memoryThrottlingFactor: number | undefined;
  readonly memoryReservationPolicy: 'None' | 'TieredReservation';
  /** Of what pods request, how much pods of lower classes may not have: `{ memory: '50%' }`. */
  readonly qosReserved: Readonly<Record<string, string>>;
  readonly cpuCfsQuota: boolean;
  readonly cpuCfsQuotaPeriodMs: number;
  readonly resolvConf: string;
  readonly clusterDns: readonly string[];
  /** Empty where there is no cluster. */
  readonly clusterDomain: string;
  /** Undefined for pods on the bridge of the runtime in the box. */
  readonly podDns: boolean | undefined;
  /** Networks with commas between them; empty for what the runtime chooses. */
  readonly podCidr: string;
  /** Empty for a range that no route overlaps. */
  readonly serviceCidr: string;
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
    group: 'Node and resources',
    field: 'maxPods',
    fromConfig: (config) => config.maxPods,
    doc: 'Maximum number of pods on this node',
  },
  podsPerCore: {
    type: 'count',
    default: 0,
    flag: '--pods-per-core',
    group: 'Node and resources',
    field: 'podsPerCore',
    fromConfig: (config) => config.podsPerCore,
    doc: 'Maximum number of pods per CPU core; 0 for no such limit',
  },
  cgroupDriver: {
    type: ['', ...CGROUP_DRIVERS],
    default: '',
    defaultText: 'the one that the runtime reports',
    flag: '--cgroup-driver',
    group: 'Container runtime',
    field: 'cgroupDriver',
    fromConfig: (config) => config.cgroupDriver,
    doc: 'Cgroup driver of new pods, cgroupfs or systemd',
  },
  cgroupRoot: {
    type: 'text',
    default: '',
    defaultText: 'a cgroup of this agent alone',
    flag: '--cgroup-root',
    group: 'Node and resources',
    field: 'cgroupRoot',
    fromConfig: (config) => config.cgroupRoot,
    doc: 'Parent cgroup of all pods; do not share it with a kubelet, which ends pods in its cgroups that it does not know',
  },
  cgroupsPerQos: {
    type: 'switch',
    default: true,
    flag: '--cgroups-per-qos',
    group: 'Node and resources',
    field: 'cgroupsPerQOS',
    fromConfig: (config) => config.cgroupsPerQOS,
    doc: 'Give each pod a cgroup under the one of its QoS class; with false the runtime chooses where containers go',
  },
  podPidsLimit: {
    type: 'limit',
    default: -1,
    flag: '--pod-max-pids',
    group: 'Node and resources',
    field: 'podPidsLimit',
    fromConfig: (config) => config.podPidsLimit,
    doc: 'Maximum number of processes and threads in a pod; -1 for no limit',
  },
  singleProcessOomKill: {
    type: 'choice',
    default: undefined,
    defaultText: 'false on cgroup v2, true on v1',
    flag: '',
    field: 'singleProcessOOMKill',
    fromConfig: (config) => config.singleProcessOOMKill,
    doc: 'When a container needs more memory than its limit, let the kernel kill one process alone instead of all of the container',
  },
  idsPerPod: {
    type: 'count',
    default: 65_536,
    flag: '',
    field: 'userNamespaces.idsPerPod',
    fromConfig: (config) => config.idsPerPod,
    doc: 'How many ids of users and groups a pod with hostUsers: false gets, a multiple of 65536',
  },
  swapBehavior: {
    type: ['NoSwap', 'LimitedSwap'],
    default: 'NoSwap',
    flag: '',
    field: 'memorySwap.swapBehavior',
    fromConfig: (config) => config.swapBehavior,
    doc: 'Whether burstable containers may use a share of the node’s swap (LimitedSwap) or nobody (NoSwap), on cgroup v2',
  },
  memoryThrottlingFactor: {
    type: 'factor',
    default: undefined,
    flag: '',
    field: 'memoryThrottlingFactor',
    fromConfig: (config) => config.memoryThrottlingFactor,
    doc: 'On cgroup v2: where between its request and its limit of memory the kernel begins to slow a container down, from above 0 to 1',
  },
  memoryReservationPolicy: {
    type: ['None', 'TieredReservation'],
    default: 'None',
    flag: '',
    field: 'memoryReservationPolicy',
    fromConfig: (config) => config.memoryReservationPolicy,
    doc: 'On cgroup v2: whether the kernel keeps the memory that pods request for them (TieredReservation), for guaranteed pods in any case and for burstable ones as far as it can',
  },
  qosReserved: {
    type: 'amounts',
    default: {},
    flag: '',
    field: 'qosReserved',
    fromConfig: (config) => config.qosReserved,
    doc: 'How much of the memory that pods request is reserved for them: burstable pods together may not have that of guaranteed ones, and pods without requests not that of both',
  },
  cpuCfsQuota: {
    type: 'switch',
    default: true,
    flag: '--cpu-cfs-quota',
    group: 'Node and resources',
    field: 'cpuCFSQuota',
    fromConfig: (config) => config.cpuCFSQuota,
    doc: 'Enforce the CPU limits of containers',
  },
  cpuCfsQuotaPeriodMs: {
    type: 'duration',
    default: 100,
    flag: '--cpu-cfs-quota-period',
    group: 'Node and resources',
    field: 'cpuCFSQuotaPeriod',
    fromConfig: (config) => config.cpuCFSQuotaPeriodMs,
    doc: 'Period over which CPU limits are enforced',
  },
  resolvConf: {
    type: 'text',
    default: '/etc/resolv.conf',
    flag: '--resolv-conf',
    group: 'Node and resources',
    field: 'resolvConf',
    fromConfig: (config) => config.resolvConf,
    doc: 'File that containers get as /etc/resolv.conf; empty for none',
  },
  clusterDns: {
    type: 'list',
    default: [],
    defaultText: 'the DNS servers of the node',
    flag: '--cluster-dns',
    group: 'Cluster',
    field: 'clusterDNS',
    fromConfig: (config) => config.clusterDNS,
    doc: 'Addresses of DNS servers for pods with dnsPolicy ClusterFirst',
  },
  clusterDomain: {
    type: 'text',
    default: '',
    flag: '--cluster-domain',
    group: 'Cluster',
    field: 'clusterDomain',
    fromConfig: (config) => config.clusterDomain,
    doc: 'DNS domain of the cluster: pods search it, and their full names end with it',
  },
  podDns: {
    type: 'choice',
    default: undefined,
    defaultText: 'true for pods on the bridge of the built-in runtime',
    flag: '--pod-dns',
    group: 'Pods and manifests',
    doc: 'Answer pods with dnsPolicy ClusterFirst the names of Services, without a cluster',
  },
  podCidr: {
    type: 'text',
    default: '',
    defaultText: 'what the runtime chooses',
    flag: '--pod-cidr',
    group: 'Pods and manifests',
    field: 'podCIDR',
    fromConfig: (config) => config.podCIDR,
    doc: 'Range of the addresses of pods, without a cluster; in a cluster the control plane assigns one',
  },
  serviceCidr: {
    type: 'text',
    default: '',
    defaultText: 'one that no route of this machine overlaps',
    flag: '--service-cidr',
    group: 'Pods and manifests',
    doc: 'IPv4 range of the addresses of Services, without a cluster',
  },
  seccompDefault: {
    type: 'switch',
    default: false,
    flag: '--seccomp-default',
    group: 'Server and security',
    field: 'seccompDefault',
    fromConfig: (config) => config.seccompDefault,
    doc: 'Give containers without a seccomp profile the default profile of the runtime',
  },
  allowedUnsafeSysctls: {
    type: 'list',
    default: [],
    flag: '--allowed-unsafe-sysctls',
    group: 'Server and security',
    field: 'allowedUnsafeSysctls',
    fromConfig: (config) => config.allowedUnsafeSysctls,
    doc: 'Sysctls that pods may set in addition to the safe ones; a * at the end matches any rest',
  },
  forbid: {
    type: 'list',
    default: [],
    flag: '--forbid',
    group: 'Server and security',
    doc: `Features that pods may not request, separated by commas: ${FORBIDDABLE.join(', ')}; a pod that requests one is not run`,
  },
  allowedHostPaths: {
    type: 'list',
    default: [],
    defaultText: 'any path',
    flag: '--allowed-host-paths',
    group: 'Server and security',
    doc: 'The only host paths that pods may mount with hostPath, each with everything below it; append :ro to allow read-only mounts alone',
  },
};
