import { cri } from '#watch';
import { type Container } from '#kube/container/container.js';
import { withPodLimits } from '#kube/pod/pod-level-resources.js';
import { computeContainerRequests, computePodRequests, podOverhead } from '#kube/pod/pod-requests.js';
import { type Pod } from '#kube/pod/pod.js';

import { computeHugepageLimits } from './huge-pages.js';
import { computeMemoryQos } from './memory-qos.js';
import { type NodeFacts } from './node-facts.js';
import { amountOf, computeOomScore, computePodLimit } from './quality-of-service.js';
import { type ContainerResources } from '../runtime-changes.js';
import { computeSwapLimit } from './swap-limit.js';

type ResourceFacts = Pick<
  NodeFacts,
  | 'memoryCapacityBytes'
  | 'cpuCfsQuota'
  | 'cpuCfsPeriodUs'
  | 'hugePageSizes'
  | 'oomKillsContainer'
  | 'swap'
  | 'memoryQos'
> &
  Partial<Pick<NodeFacts, 'pageSizeBytes'>>;

const SHARES_PER_CPU = 1024n;
const LEAST_SHARES = 2n;
const MAX_SHARES = 262_144n;
const LEAST_QUOTA_US = 1000n;
/** The kernel ends all of a group with one process of it. Source: cgroup-v2 of the kernel’s documentation. */
const OOM_GROUP_FILE = 'memory.oom.group';
const USUAL_PAGE_BYTES = 4096;
const SWAP_FILE = 'memory.swap.max';

/** CRI's limits of a container: cpu by shares and quota, memory by its limit, and the OOM score. Pure. */
export function computeContainerResources(
  pod: Pod,
  container: Container,
  facts: ResourceFacts,
): ContainerResources {
  const cpuRequest = amountOf(container, 'requests', 'cpu');
  // Where a container has none, the pod's: programs size themselves by the limits of their own group.
  const limited = withPodLimits(pod.spec, container);
  const cpuLimit = amountOf(limited, 'limits', 'cpu');
  return cri.LinuxContainerResources.fromPartial({
    cpuShares: toShares(cpuRequest === 0n ? cpuLimit : cpuRequest),
    ...toQuota(cpuLimit, facts),
    memoryLimitInBytes: amountOf(limited, 'limits', 'memory'),
    oomScoreAdj: BigInt(computeOomScore(pod, container, facts.memoryCapacityBytes)),
    hugepageLimits: [...computeHugepageLimits(container, facts.hugePageSizes ?? [])],
    unified: {
      ...(facts.oomKillsContainer === true ? { [OOM_GROUP_FILE]: '1' } : {}),
      ...(facts.swap === undefined
        ? {}
        : { [SWAP_FILE]: String(computeSwapLimit(pod, container, { ...facts, swap: facts.swap })) }),
      ...(facts.memoryQos === undefined
        ? {}
        : computeMemoryQos(pod, limited, {
            ...{ memoryQos: facts.memoryQos, pageSizeBytes: facts.pageSizeBytes ?? USUAL_PAGE_BYTES },
          })),
    },
  });
}

/** The limits of a whole pod's cgroup; undefined: no limit. */
export interface PodLimits {
  readonly cpuQuotaUs: bigint | undefined;
  readonly cpuPeriodUs: bigint;
  readonly memoryBytes: bigint | undefined;
}

/**
 * The limits of a whole pod: its own, else the sum over its containers, if each has one, plus its overhead. Pure.
 *
 * Source: the kubelet's cgroups of pods, as operators see them.
 */
export function computePodLimits(
  { spec }: Pod,
  { cpuCfsQuota, cpuCfsPeriodUs }: Pick<ResourceFacts, 'cpuCfsQuota' | 'cpuCfsPeriodUs'>,
): PodLimits {
  const facts = { cpuCfsQuota, cpuCfsPeriodUs };
  const overhead = podOverhead(spec);
  const cpuMilli = computePodLimit(spec, 'cpu');
  const memoryBytes = computePodLimit(spec, 'memory');
  return {
    cpuQuotaUs: toQuota(cpuMilli === undefined ? 0n : cpuMilli + overhead.cpuMilli, facts).cpuQuota,
    cpuPeriodUs: BigInt(cpuCfsPeriodUs),
    memoryBytes: memoryBytes === undefined ? undefined : memoryBytes + overhead.memoryBytes,
  };
}

/**
 * The overhead of a pod beside its containers, for runtimes that size the sandbox by it; undefined for none.
 * Pure.
 */
export function computePodOverhead({ spec }: Pod, facts: ResourceFacts): ContainerResources | undefined {
  if (spec.overhead === undefined) return undefined;
  const { cpuMilli, memoryBytes } = podOverhead(spec);
  return cri.LinuxContainerResources.fromPartial({
    ...(cpuMilli > 0n ? { cpuShares: toShares(cpuMilli), ...toQuota(cpuMilli, facts) } : {}),
    memoryLimitInBytes: memoryBytes,
  });
}

/** What the containers of a pod may use together, for runtimes that size the sandbox by it. Pure. */
export function computePodResources(pod: Pod, facts: ResourceFacts): ContainerResources {
  return cri.LinuxContainerResources.fromPartial({
    cpuShares: toShares(computeContainerRequests(pod.spec).cpuMilli),
    ...toQuota(computePodLimit(pod.spec, 'cpu') ?? 0n, facts),
    memoryLimitInBytes: computePodLimit(pod.spec, 'memory') ?? 0n,
  });
}

/** The CPU shares that a whole pod requests, in cgroup v1's unit: 1024 for a core. Pure. */
export function computePodShares(pod: Pod): bigint {
  return toShares(computePodRequests(pod.spec).cpuMilli);
}

/** Converts thousandths of a core to cgroup v1's unit. Pure. */
export function toShares(milli: bigint): bigint {
  const shares = (milli * SHARES_PER_CPU) / 1000n;
  return shares < LEAST_SHARES ? LEAST_SHARES : shares > MAX_SHARES ? MAX_SHARES : shares;
}

function toQuota(
  milli: bigint,
  { cpuCfsQuota, cpuCfsPeriodUs }: Pick<ResourceFacts, 'cpuCfsQuota' | 'cpuCfsPeriodUs'>,
): Partial<ContainerResources> {
  if (!cpuCfsQuota || milli === 0n) return {};
  const cpuPeriod = BigInt(cpuCfsPeriodUs);
  const quota = (milli * cpuPeriod) / 1000n;
  return { cpuPeriod, cpuQuota: quota < LEAST_QUOTA_US ? LEAST_QUOTA_US : quota };
}
