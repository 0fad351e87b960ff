import { FORBIDDABLE } from '../model/node-policy.js';
import { PLEG_MODES, type PlegMode } from '../pleg/index.js';
import { CGROUP_DRIVERS, type CgroupDriver } from '../runtime/pod-cgroup-names.js';
import { type KubeletConfig } from './kubelet-config/kubelet-config.js';

/** What a node agent can be told. Each is explained in {@link AGENT_OPTIONS}. */
export interface AgentOptions {
  readonly podManifestPath: string;
  readonly manifestUrl: string;
  readonly manifestUrlHeader: Readonly<Record<string, readonly string[]>>;
  readonly runtimeEndpoint: string;
  readonly rootDir: string;
  readonly podLogsDir: string;
  readonly containerLogLinksDir: string;
  readonly nodeName: string;
  readonly nodeIp: string;
  /** Empty for the one in the root folder. */
  readonly socket: string;
  readonly mode: PlegMode;
  readonly syncFrequencyMs: number;
  readonly fileCheckFrequencyMs: number;
  readonly httpCheckFrequencyMs: number;
  readonly runtimeRequestTimeoutMs: number;
  readonly maxPods: number;
  readonly podsPerCore: number;
  readonly systemReserved: Readonly<Record<string, string>>;
  readonly kubeReserved: Readonly<Record<string, string>>;
  /** Empty for the runtime's, and cgroupfs where it does not tell. */
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
  readonly maxParallelImagePulls: number;
  readonly imageGcHighThreshold: number;
  readonly imageGcLowThreshold: number;
  readonly imageMinimumGcAgeMs: number;
  readonly containerLogMaxSizeBytes: number;
  readonly containerLogMaxFiles: number;
  readonly containerLogMonitorIntervalMs: number;
  readonly maxContainerRestartPeriodMs: number;
  readonly minimumContainerTtlMs: number;
  readonly maximumDeadContainersPerContainer: number;
  readonly maximumDeadContainers: number;
  readonly adopt: boolean;
  readonly stopPods: boolean;
  readonly exitWhenDone: boolean;
}

/** What a value has to be. */
export type AgentOptionType =
  | 'text'
  | 'path'
  | 'duration'
  /** A whole number that is not negative. */
  | 'count'
  /** A whole number; a negative one stands for no limit. */
  | 'limit'
  | 'percent'
  | 'switch'
  | 'size'
  | 'map'
  /** Words, given one by one or with commas between them. */
  | 'list'
  | readonly string[];

/** One row of the table. */
export interface AgentOptionFacts<Value> {
  readonly type: AgentOptionType;
  readonly default: Value;
  /** Its flag; empty when only a configuration file can say it. */
  readonly flag: string;
  /** Other names of the flag: the kubelet's, where ours is another. */
  readonly aliases?: readonly string[];
  /** The field of a KubeletConfiguration, for the reference page. */
  readonly field?: string;
  /** The field's value in the form that the option has. */
  readonly fromConfig?: (config: KubeletConfig) => Value | undefined;
  /** One sentence for the reference page and for `--help`. */
  readonly doc: string;
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** Every option of the node agent: what it is unless told, and where it is told. A flag outdoes the file. */
export const AGENT_OPTIONS: { readonly [Name in keyof AgentOptions]: AgentOptionFacts<AgentOptions[Name]> } =
  {
    podManifestPath: {
      type: 'text',
      default: '',
      flag: '--pod-manifest-path',
      field: 'staticPodPath',
      fromConfig: (config) => config.staticPodPath,
      doc: 'Folder of Pod manifests, or one file; "-" for standard input',
    },
    manifestUrl: {
      type: 'text',
      default: '',
      flag: '--manifest-url',
      field: 'staticPodURL',
      fromConfig: (config) => config.staticPodURL,
      doc: 'URL of Pod manifests, asked again and again',
    },
    manifestUrlHeader: {
      type: 'map',
      default: {},
      flag: '--manifest-url-header',
      field: 'staticPodURLHeader',
      fromConfig: (config) => config.staticPodURLHeader,
      doc: 'Header of the requests for --manifest-url, as Name:value; may be given several times',
    },
    runtimeEndpoint: {
      type: 'text',
      default: '',
      flag: '--runtime-endpoint',
      aliases: ['--container-runtime-endpoint'],
      field: 'containerRuntimeEndpoint',
      fromConfig: (config) => config.containerRuntimeEndpoint,
      doc: 'Socket of the container runtime, unix:///path, or "embedded"; unless told the one that the machine has, else the embedded one',
    },
    rootDir: {
      type: 'path',
      default: '/var/lib/podloop',
      flag: '--root-dir',
      doc: 'Folder for records and for the volumes of pods; it belongs to one agent at a time',
    },
    podLogsDir: {
      type: 'path',
      default: '/var/log/pods',
      flag: '--pod-logs-dir',
      field: 'podLogsDir',
      fromConfig: (config) => config.podLogsDir,
      doc: 'Folder for the logs of containers',
    },
    containerLogLinksDir: {
      type: 'text',
      default: '',
      flag: '--container-log-links-dir',
      doc: 'Folder for links to the logs of containers, where those who collect logs look; unless told /var/log/containers if --pod-logs-dir is /var/log/pods, else none',
    },
    nodeName: {
      type: 'text',
      default: '',
      flag: '--node-name',
      aliases: ['--hostname-override'],
      doc: 'Name of this node, which stands behind the names of its pods; the machine’s unless told',
    },
    nodeIp: {
      type: 'text',
      default: '',
      flag: '--node-ip',
      doc: 'Address of this node and of pods on its network; found by itself unless told',
    },
    socket: {
      type: 'text',
      default: '',
      flag: '--socket',
      doc: 'Where the agent answers kubectl’s kind of questions, and others of podloop’s commands find it: the path of a unix socket; podloop.sock in the root folder unless told',
    },
    mode: {
      type: PLEG_MODES,
      default: 'auto',
      flag: '--mode',
      doc: 'What makes the agent look: the period alone (generic), or events of the runtime as well (evented, auto)',
    },
    syncFrequencyMs: {
      type: 'duration',
      default: MINUTE,
      flag: '--sync-frequency',
      field: 'syncFrequency',
      fromConfig: (config) => config.syncFrequencyMs,
      doc: 'After how long at most a pod is held against its manifest again',
    },
    fileCheckFrequencyMs: {
      type: 'duration',
      default: 20 * SECOND,
      flag: '--file-check-frequency',
      field: 'fileCheckFrequency',
      fromConfig: (config) => config.fileCheckFrequencyMs,
      doc: 'How often manifests are read again, besides when they change',
    },
    httpCheckFrequencyMs: {
      type: 'duration',
      default: 20 * SECOND,
      flag: '--http-check-frequency',
      field: 'httpCheckFrequency',
      fromConfig: (config) => config.httpCheckFrequencyMs,
      doc: 'How often --manifest-url is asked',
    },
    runtimeRequestTimeoutMs: {
      type: 'duration',
      default: 2 * MINUTE,
      flag: '--runtime-request-timeout',
      field: 'runtimeRequestTimeout',
      fromConfig: (config) => config.runtimeRequestTimeoutMs,
      doc: 'After how long a call of the runtime is given up, but for those that take as long as they take',
    },
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
      doc: 'Who makes cgroups, cgroupfs or systemd, where the runtime does not tell itself; cgroupfs unless told',
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
    maxParallelImagePulls: {
      type: 'count',
      default: 5,
      flag: '--max-parallel-image-pulls',
      field: 'maxParallelImagePulls',
      fromConfig: (config) =>
        config.maxParallelImagePulls ?? (config.serializeImagePulls === true ? 1 : undefined),
      doc: 'How many images are pulled at once',
    },
    imageGcHighThreshold: {
      type: 'percent',
      default: 85,
      flag: '--image-gc-high-threshold',
      field: 'imageGCHighThresholdPercent',
      fromConfig: (config) => config.imageGCHighThresholdPercent,
      doc: 'How full the disk of images is, in percent, when images that the agent has pulled and nobody uses are removed; 100 for never',
    },
    imageGcLowThreshold: {
      type: 'percent',
      default: 80,
      flag: '--image-gc-low-threshold',
      field: 'imageGCLowThresholdPercent',
      fromConfig: (config) => config.imageGCLowThresholdPercent,
      doc: 'How full the disk of images may stay then',
    },
    imageMinimumGcAgeMs: {
      type: 'duration',
      default: 2 * MINUTE,
      flag: '--minimum-image-ttl-duration',
      field: 'imageMinimumGCAge',
      fromConfig: (config) => config.imageMinimumGCAgeMs,
      doc: 'How long an image is kept at least after it was pulled',
    },
    containerLogMaxSizeBytes: {
      type: 'size',
      default: 10 * 1024 * 1024,
      flag: '--container-log-max-size',
      field: 'containerLogMaxSize',
      fromConfig: (config) => config.containerLogMaxSizeBytes,
      doc: 'How large the log of a container grows before it is rotated',
    },
    containerLogMaxFiles: {
      type: 'count',
      default: 5,
      flag: '--container-log-max-files',
      field: 'containerLogMaxFiles',
      fromConfig: (config) => config.containerLogMaxFiles,
      doc: 'How many files the log of a container has at most',
    },
    containerLogMonitorIntervalMs: {
      type: 'duration',
      default: 10 * SECOND,
      flag: '',
      field: 'containerLogMonitorInterval',
      fromConfig: (config) => config.containerLogMonitorIntervalMs,
      doc: 'How often the size of logs is looked at',
    },
    maxContainerRestartPeriodMs: {
      type: 'duration',
      default: 5 * MINUTE,
      flag: '',
      field: 'crashLoopBackOff.maxContainerRestartPeriod',
      fromConfig: (config) => config.maxContainerRestartPeriodMs,
      doc: 'How long at most a container that keeps failing waits before it is started again',
    },
    minimumContainerTtlMs: {
      type: 'duration',
      default: 0,
      flag: '--minimum-container-ttl-duration',
      doc: 'How long a dead container is kept at least',
    },
    maximumDeadContainersPerContainer: {
      type: 'limit',
      default: 1,
      flag: '--maximum-dead-containers-per-container',
      doc: 'How many dead containers are kept of each container',
    },
    maximumDeadContainers: {
      type: 'limit',
      default: -1,
      flag: '--maximum-dead-containers',
      doc: 'How many dead containers are kept in all; -1 for any number',
    },
    adopt: {
      type: 'switch',
      default: false,
      flag: '--adopt',
      doc: 'Take over, without a restart, pods that a kubelet left: those with the namespace and name of a manifest',
    },
    stopPods: {
      type: 'switch',
      default: false,
      flag: '--stop-pods',
      doc: 'Stop and remove all pods of the agent before it ends, instead of leaving them as they are',
    },
    exitWhenDone: {
      type: 'switch',
      default: false,
      flag: '--exit-when-done',
      doc: 'End when every pod has: with 0 when all succeeded, else with 1',
    },
  };
