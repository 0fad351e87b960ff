import { type OptionsTable } from './options-table.js';

/** The options of an agent that joins a cluster. */
export interface ClusterOptions {
  /** Empty for an agent on its own. */
  readonly kubeconfig: string;
  /** Empty when there is no other way to a certificate. */
  readonly bootstrapKubeconfig: string;
  readonly rotateCertificates: boolean;
  readonly registerNode: boolean;
  /** `key=value,key=value`. */
  readonly nodeLabels: string;
  /** Each `key=value:Effect`. */
  readonly registerWithTaints: readonly string[];
  readonly providerId: string;
  /** `external`: the controller of a cloud completes the Node. */
  readonly cloudProvider: '' | 'external';
  readonly kubeApiQps: number;
  readonly kubeApiBurst: number;
  readonly eventRecordQps: number;
  readonly eventBurst: number;
  readonly nodeStatusUpdateFrequencyMs: number;
  readonly nodeStatusReportFrequencyMs: number;
  readonly nodeLeaseDurationSeconds: number;
  readonly nodeStatusMaxImages: number;
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** The rows of {@link ClusterOptions}. */
export const CLUSTER_OPTIONS: OptionsTable<ClusterOptions> = {
  kubeconfig: {
    type: 'text',
    default: '',
    flag: '--kubeconfig',
    group: 'Common flags',
    doc: 'Kubeconfig of this node; with it the agent joins the cluster and also runs the pods bound to this node',
  },
  bootstrapKubeconfig: {
    type: 'text',
    default: '',
    flag: '--bootstrap-kubeconfig',
    group: 'Cluster',
    doc: 'Kubeconfig for requesting a client certificate while --kubeconfig is missing or its certificate has expired; the agent then writes --kubeconfig',
  },
  rotateCertificates: {
    type: 'switch',
    default: true,
    flag: '--rotate-certificates',
    group: 'Cluster',
    field: 'rotateCertificates',
    fromConfig: (config) => config.rotateCertificates,
    doc: 'Renew the client certificate of the node before it expires',
  },
  registerNode: {
    type: 'switch',
    default: true,
    flag: '--register-node',
    group: 'Cluster',
    field: 'registerNode',
    fromConfig: (config) => config.registerNode,
    doc: 'Create the Node object if there is none; with false somebody else has to',
  },
  nodeLabels: {
    type: 'text',
    default: '',
    flag: '--node-labels',
    group: 'Cluster',
    doc: 'Labels of the Node when it is created, as in disk=ssd,zone=a',
  },
  registerWithTaints: {
    type: 'list',
    default: [],
    flag: '--register-with-taints',
    group: 'Cluster',
    field: 'registerWithTaints',
    fromConfig: (config) => config.registerWithTaints,
    doc: 'Taints of the Node when it is created, as in key=value:NoSchedule, separated by commas',
  },
  providerId: {
    type: 'text',
    default: '',
    flag: '--provider-id',
    group: 'Cluster',
    field: 'providerID',
    fromConfig: (config) => config.providerID,
    doc: 'ID of this machine at the cloud provider',
  },
  cloudProvider: {
    type: ['', 'external'],
    default: '',
    flag: '--cloud-provider',
    group: 'Cluster',
    doc: 'external: a cloud controller manager completes the Node, which has its taint until then; it also sets the addresses',
  },
  kubeApiQps: {
    type: 'limit',
    default: 50,
    flag: '',
    field: 'kubeAPIQPS',
    fromConfig: (config) => config.kubeAPIQPS,
    doc: 'In a cluster: average number of requests to the API server per second; a negative number for no limit',
  },
  kubeApiBurst: {
    type: 'count',
    default: 100,
    flag: '',
    field: 'kubeAPIBurst',
    fromConfig: (config) => config.kubeAPIBurst,
    doc: 'In a cluster: number of requests to the API server that may be sent at once',
  },
  eventRecordQps: {
    type: 'count',
    default: 50,
    flag: '--event-qps',
    group: 'Cluster',
    field: 'eventRecordQPS',
    fromConfig: (config) => config.eventRecordQPS,
    doc: 'Average number of events sent to the API server per second; 0 for no limit',
  },
  eventBurst: {
    type: 'count',
    default: 100,
    flag: '--event-burst',
    group: 'Cluster',
    field: 'eventBurst',
    fromConfig: (config) => config.eventBurst,
    doc: 'Number of events that may be sent to the API server at once',
  },
  nodeStatusUpdateFrequencyMs: {
    type: 'duration',
    default: 10 * SECOND,
    flag: '',
    field: 'nodeStatusUpdateFrequency',
    fromConfig: (config) => config.nodeStatusUpdateFrequencyMs,
    doc: 'In a cluster: how often the status of the Node is computed; it is sent when it has changed',
  },
  nodeStatusReportFrequencyMs: {
    type: 'duration',
    default: 5 * MINUTE,
    flag: '',
    field: 'nodeStatusReportFrequency',
    fromConfig: (config) => config.nodeStatusReportFrequencyMs ?? config.nodeStatusUpdateFrequencyMs,
    doc: 'In a cluster: how often the status of the Node is sent when it has not changed',
  },
  nodeLeaseDurationSeconds: {
    type: 'count',
    default: 40,
    flag: '',
    field: 'nodeLeaseDurationSeconds',
    fromConfig: (config) => config.nodeLeaseDurationSeconds,
    doc: 'In a cluster: how long the lease of the Node is valid, in seconds; it is renewed four times as often',
  },
  nodeStatusMaxImages: {
    type: 'limit',
    default: 50,
    flag: '',
    field: 'nodeStatusMaxImages',
    fromConfig: (config) => config.nodeStatusMaxImages,
    doc: 'In a cluster: maximum number of images in the status of the Node; -1 for all',
  },
};
