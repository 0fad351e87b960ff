import { type MemoryQos } from './memory-qos.js';
import { type ResolverConfig } from './resolver-config.js';
import { type SwapFacts } from './swap-limit.js';

/** What the configurations of sandboxes and containers need to know about the node. */
export interface NodeFacts {
  /** The mark of ownership on everything that the agent creates. */
  readonly nodeInstance: string;
  /** The node's host name, which pods on its network have, too. */
  readonly hostname: string;
  /** The contents of the node's resolv.conf. */
  readonly resolver: ResolverConfig;
  /** Whether the node belongs to a cluster: without one, nobody expects a cluster's name server. */
  readonly isInCluster: boolean;
  /** Name servers for pods with dnsPolicy ClusterFirst; empty where there is no cluster. */
  readonly clusterDns: readonly string[];
  /** Appended to names in the cluster, such as `cluster.local`; empty where there is none. */
  readonly clusterDomain: string;
  /** For the OOM score. */
  readonly memoryCapacityBytes: bigint;
  /** Sizes of huge pages that it has, in bytes (default: none). */
  readonly hugePageSizes?: readonly bigint[];
  /** The page size of its memory, in which the kernel limits the arguments of a program. */
  readonly pageSizeBytes: number;
  /** Whether cpu limits are enforced. */
  readonly cpuCfsQuota: boolean;
  /** In microseconds. */
  readonly cpuCfsPeriodUs: number;
  /** Whether the kernel kills all of a container that needs more memory than its limit, and not one process alone. */
  readonly oomKillsContainer?: boolean;
  /** The node's swap; undefined where it cannot be limited (default: undefined). */
  readonly swap?: SwapFacts | undefined;
  /** How memory is kept for containers; undefined on cgroup v1 (default: undefined). */
  readonly memoryQos?: MemoryQos | undefined;
  /** The folder of seccomp profiles, for those with `Localhost`. */
  readonly seccompDir: string;
  /** Whether containers that ask for no seccomp profile get the runtime's default one. */
  readonly seccompDefault: boolean;
  /** Further paths of this machine that containers do not see, unless they are privileged. */
  readonly maskedPaths: readonly string[];
  /** Whether the runtime supports supplementalGroupsPolicy Strict; undefined until it has reported that. */
  readonly strictGroups: boolean | undefined;
  /** Whether the runtime can mount anything: the embedded one cannot without isolation. */
  readonly canMount: boolean;
}
