import { type KubeletAddresses } from '#doctor';
import { type ListenAddress } from './node/observer-api.js';

/** How findings are reported to a cluster. */
export interface ClusterReportOptions {
  /** File of the kubeconfig, or `in-cluster` for the service account of the observer's pod. */
  readonly kubeconfig: string;
  /** Type of the condition of the Node; undefined for none. */
  readonly condition: string | undefined;
  /** Names the API server in a pod, and proxies; programs that hand out credentials get it. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** What an operator decides about an observer. */
export interface ObserveOptions {
  /** `unix:///path` of the runtime. It need not be there yet. */
  readonly runtimeEndpoint: string;
  readonly rootDir: string;
  /** Empty for the one in the root folder. */
  readonly socket: string;
  readonly podLogsDir: string;
  readonly nodeName: string;
  /** Where metrics and health are served; undefined for nowhere. */
  readonly metricsAddress: ListenAddress | undefined;
  /** Where the kubelet is; called for each examination. */
  readonly readKubelet: () => Promise<KubeletAddresses>;
  /** Health check of the kubelet; empty for none. */
  readonly healthzUrl: string;
  /** The root of the machine: `/`, or where it is mounted. */
  readonly hostRoot: string;
  readonly journalMaxSizeBytes: number;
  readonly journalMaxAgeMs: number;
  /** Undefined where findings are reported to no cluster. */
  readonly report: ClusterReportOptions | undefined;
}
