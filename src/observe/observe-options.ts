import { type KubeletAddresses } from '#doctor';
import { type ListenAddress } from './node/observer-api.js';

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
}
