import { type OptionsTable } from './options-table.js';

/** What an agent is told of the cluster that it is to be a node of. */
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
    doc: 'Kubeconfig of this node in a cluster: with it the agent joins the cluster and runs the pods that are bound to it as well',
  },
  bootstrapKubeconfig: {
    type: 'text',
    default: '',
    flag: '--bootstrap-kubeconfig',
    doc: 'In a cluster: kubeconfig to ask for a client certificate with while --kubeconfig is not there or its certificate has ended; --kubeconfig is written then',
  },
  rotateCertificates: {
    type: 'switch',
    default: true,
    flag: '--rotate-certificates',
    field: 'rotateCertificates',
    fromConfig: (config) => config.rotateCertificates,
    doc: 'In a cluster: renew the client certificate of the node in time',
  },
  registerNode: {
    type: 'switch',
    default: true,
    flag: '--register-node',
    field: 'registerNode',
    fromConfig: (config) => config.registerNode,
    doc: 'In a cluster: make the Node when there is none; else somebody else has to',
  },
  nodeLabels: {
    type: 'text',
    default: '',
    flag: '--node-labels',
    doc: 'In a cluster: labels of the Node that is made, as in disk=ssd,zone=a',
  },
  registerWithTaints: {
    type: 'list',
    default: [],
    flag: '--register-with-taints',
    field: 'registerWithTaints',
    fromConfig: (config) => config.registerWithTaints,
    doc: 'In a cluster: taints of the Node that is made, as in key=value:NoSchedule, with commas between them',
  },
  providerId: {
    type: 'text',
    default: '',
    flag: '--provider-id',
    field: 'providerID',
    fromConfig: (config) => config.providerID,
    doc: 'In a cluster: what the cloud calls this machine',
  },
  kubeApiQps: {
    type: 'limit',
    default: 50,
    flag: '',
    field: 'kubeAPIQPS',
    fromConfig: (config) => config.kubeAPIQPS,
    doc: 'In a cluster: requests a second to the API server in the long run; a negative number for no limit',
  },
  kubeApiBurst: {
    type: 'count',
    default: 100,
    flag: '',
    field: 'kubeAPIBurst',
    fromConfig: (config) => config.kubeAPIBurst,
    doc: 'In a cluster: requests to the API server at once',
  },
  eventRecordQps: {
    type: 'count',
    default: 50,
    flag: '--event-qps',
    field: 'eventRecordQPS',
    fromConfig: (config) => config.eventRecordQPS,
    doc: 'In a cluster: events a second that are told the API server in the long run; 0 for no limit',
  },
  eventBurst: {
    type: 'count',
    default: 100,
    flag: '--event-burst',
    field: 'eventBurst',
    fromConfig: (config) => config.eventBurst,
    doc: 'In a cluster: events that are told the API server at once',
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
    doc: 'In a cluster: after how long the status of the Node is sent although it has not changed',
  },
  nodeLeaseDurationSeconds: {
    type: 'count',
    default: 40,
    flag: '',
    field: 'nodeLeaseDurationSeconds',
    fromConfig: (config) => config.nodeLeaseDurationSeconds,
    doc: 'In a cluster: for how long a sign of life holds; one is given four times as often',
  },
  nodeStatusMaxImages: {
    type: 'limit',
    default: 50,
    flag: '',
    field: 'nodeStatusMaxImages',
    fromConfig: (config) => config.nodeStatusMaxImages,
    doc: 'In a cluster: of how many images the Node tells; -1 for all',
  },
};
