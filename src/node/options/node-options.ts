import { PLEG_MODES, type PlegMode } from '#watch';
import { USUAL_ROOT_DIR } from './usual-places.js';
import { type OptionsTable } from './options-table.js';

/** What an agent is told of its manifests, its runtime, its places on the node, and how often it looks. */
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
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** The rows of {@link NodeOptions}. */
export const NODE_OPTIONS: OptionsTable<NodeOptions> = {
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
    default: USUAL_ROOT_DIR,
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
    doc: 'Address of this node and of pods on its network, or one of IPv4 and one of IPv6, the first before all, with a comma between; found by itself unless told',
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
    doc: 'After how long at most a pod is held against its manifest again; ten times that where nothing has changed',
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
};
