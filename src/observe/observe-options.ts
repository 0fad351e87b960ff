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
  readonly journalMaxSizeBytes: number;
  readonly journalMaxAgeMs: number;
}
