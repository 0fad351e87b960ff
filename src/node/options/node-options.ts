import { PLEG_MODES, type PlegMode } from '#watch';
import { USUAL_ROOT_DIR } from './usual-places.js';
import { type OptionsTable } from './options-table.js';

/** The options for manifests, the runtime, folders on the node, and intervals. */
export interface NodeOptions {
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
  /** Not above 0: nothing is measured. */
  readonly volumeStatsAggPeriodMs: number;
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** The rows of {@link NodeOptions}. */
export const NODE_OPTIONS: OptionsTable<NodeOptions> = {
  podManifestPath: {
    type: 'text',
    default: '',
    flag: '--pod-manifest-path',
    group: 'Common flags',
    field: 'staticPodPath',
    fromConfig: (config) => config.staticPodPath,
    doc: 'Folder of Pod manifests, or one file; "-" for standard input',
  },
  manifestUrl: {
    type: 'text',
    default: '',
    flag: '--manifest-url',
    group: 'Pods and manifests',
    field: 'staticPodURL',
    fromConfig: (config) => config.staticPodURL,
    doc: 'URL from which Pod manifests are fetched regularly',
  },
  manifestUrlHeader: {
    type: 'map',
    default: {},
    flag: '--manifest-url-header',
    group: 'Pods and manifests',
    field: 'staticPodURLHeader',
    fromConfig: (config) => config.staticPodURLHeader,
    doc: 'HTTP header for --manifest-url, as Name:value; may be given several times',
  },
  runtimeEndpoint: {
    type: 'text',
    default: '',
    defaultText: 'the runtime of this machine, else embedded',
    flag: '--runtime-endpoint',
    group: 'Common flags',
    aliases: ['--container-runtime-endpoint'],
    field: 'containerRuntimeEndpoint',
    fromConfig: (config) => config.containerRuntimeEndpoint,
    doc: 'Socket of the container runtime, as unix:///path, or "embedded"',
  },
  rootDir: {
    type: 'path',
    default: USUAL_ROOT_DIR,
    flag: '--root-dir',
    group: 'Common flags',
    doc: 'Folder for records and pod volumes; only one agent at a time can use it',
  },
  podLogsDir: {
    type: 'path',
    default: '/var/log/pods',
    flag: '--pod-logs-dir',
    group: 'Images and logs',
    field: 'podLogsDir',
    fromConfig: (config) => config.podLogsDir,
    doc: 'Folder for container logs',
  },
  containerLogLinksDir: {
    type: 'text',
    default: '',
    defaultText: '/var/log/containers if --pod-logs-dir is /var/log/pods, else none',
    flag: '--container-log-links-dir',
    group: 'Images and logs',
    doc: 'Folder for links to container logs, where log collectors find them',
  },
  nodeName: {
    type: 'text',
    default: '',
    defaultText: 'the host name',
    flag: '--node-name',
    group: 'Common flags',
    aliases: ['--hostname-override'],
    doc: 'Name of this node, which is appended to the names of its pods',
  },
  nodeIp: {
    type: 'text',
    default: '',
    defaultText: 'detected',
    flag: '--node-ip',
    group: 'Node and resources',
    doc: 'IP address of this node and of pods on the host network; for dual stack one IPv4 and one IPv6 address, separated by a comma, the primary one first',
  },
  socket: {
    type: 'text',
    default: '',
    defaultText: 'podloop.sock in --root-dir',
    flag: '--socket',
    group: 'Server and security',
    doc: 'Path of the unix socket where the agent serves its API to podloop’s commands',
  },
  mode: {
    type: PLEG_MODES,
    default: 'auto',
    flag: '--mode',
    group: 'Container runtime',
    doc: 'What triggers a relist: the period alone (generic), or runtime events as well (evented, auto)',
  },
  syncFrequencyMs: {
    type: 'duration',
    default: MINUTE,
    flag: '--sync-frequency',
    group: 'Pods and manifests',
    field: 'syncFrequency',
    fromConfig: (config) => config.syncFrequencyMs,
    doc: 'Longest time between two syncs of a pod; ten times that while nothing has changed',
  },
  fileCheckFrequencyMs: {
    type: 'duration',
    default: 20 * SECOND,
    flag: '--file-check-frequency',
    group: 'Pods and manifests',
    field: 'fileCheckFrequency',
    fromConfig: (config) => config.fileCheckFrequencyMs,
    doc: 'How often manifests are read again, in addition to when they change',
  },
  httpCheckFrequencyMs: {
    type: 'duration',
    default: 20 * SECOND,
    flag: '--http-check-frequency',
    group: 'Pods and manifests',
    field: 'httpCheckFrequency',
    fromConfig: (config) => config.httpCheckFrequencyMs,
    doc: 'How often --manifest-url is fetched',
  },
  runtimeRequestTimeoutMs: {
    type: 'duration',
    default: 2 * MINUTE,
    flag: '--runtime-request-timeout',
    group: 'Container runtime',
    field: 'runtimeRequestTimeout',
    fromConfig: (config) => config.runtimeRequestTimeoutMs,
    doc: 'Timeout of CRI calls, except those that take as long as their work, such as pulls, execs and stops',
  },
  volumeStatsAggPeriodMs: {
    type: 'period',
    default: MINUTE,
    flag: '--volume-stats-agg-period',
    group: 'Node and resources',
    field: 'volumeStatsAggPeriod',
    fromConfig: (config) => config.volumeStatsAggPeriodMs,
    doc: 'How often the disk usage of claimed volumes is measured, that of others at most every two minutes; a negative value for never',
  },
};
