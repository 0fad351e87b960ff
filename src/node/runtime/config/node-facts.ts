import { type ResolverConfig } from './resolver-config.js';

/** What the configurations of sandboxes and containers need to know of the node. */
export interface NodeFacts {
  /** Written on everything as the mark that it is ours. */
  readonly nodeInstance: string;
  /** The node's own host name: that of pods on its network. */
  readonly hostname: string;
  /** What the node's resolv.conf says. */
  readonly resolver: ResolverConfig;
  /** Whether the node belongs to a cluster: without one nobody expects a cluster's name server. */
  readonly isInCluster: boolean;
  /** Name servers for pods with dnsPolicy ClusterFirst; empty where there is no cluster. */
  readonly clusterDns: readonly string[];
  /** Appended to names in the cluster, such as `cluster.local`; empty where there is none. */
  readonly clusterDomain: string;
  /** For the OOM score. */
  readonly memoryCapacityBytes: bigint;
  /** Sizes of huge pages that it has, in bytes (default: none). */
  readonly hugePageSizes?: readonly bigint[];
  /** Of its memory; the kernel measures what a program may be started with in them. */
  readonly pageSizeBytes: number;
  /** Whether limits of cpu are enforced. */
  readonly cpuCfsQuota: boolean;
  /** In microseconds. */
  readonly cpuCfsPeriodUs: number;
  /** Where seccomp profiles are, for those with `Localhost`. */
  readonly seccompDir: string;
  /** Whether containers that ask for no seccomp profile get the runtime's default one. */
  readonly seccompDefault: boolean;
  /** What containers do not get to see of this machine besides, unless they are privileged. */
  readonly maskedPaths: readonly string[];
  /** Whether the runtime heeds supplementalGroupsPolicy Strict; undefined as long as it has not told. */
  readonly strictGroups: boolean | undefined;
  /** Whether the runtime can mount anything: the embedded one cannot where it has no isolation. */
  readonly canMount: boolean;
}
