import { LinuxContainerResources } from '#watch/messages';

/**
 * What holds after UpdateContainerResources: of the change every field that is set, of what was before the rest.
 *
 * Zero and empty are "not set" in CRI, so nothing can be taken back but by a value of its own, such as -1. Of huge
 * pages and of the `unified` map each entry counts by itself.
 */
export function mergeResources(
  before: LinuxContainerResources | undefined,
  change: LinuxContainerResources,
): LinuxContainerResources {
  const old = before ?? LinuxContainerResources.fromPartial({});
  const sizes = new Map(
    [...old.hugepageLimits, ...change.hugepageLimits].map((limit) => [limit.pageSize, limit]),
  );
  const swap = change.memorySwapLimitInBytes || old.memorySwapLimitInBytes;
  const memory = change.memoryLimitInBytes || old.memoryLimitInBytes;
  return {
    cpuPeriod: change.cpuPeriod || old.cpuPeriod,
    cpuQuota: change.cpuQuota || old.cpuQuota,
    cpuShares: change.cpuShares || old.cpuShares,
    memoryLimitInBytes: memory,
    // An old limit of both that a raised limit of memory has overtaken says nothing any more.
    memorySwapLimitInBytes:
      change.memorySwapLimitInBytes === 0n && swap > 0n && (memory < 0n || swap < memory) ? 0n : swap,
    oomScoreAdj: change.oomScoreAdj || old.oomScoreAdj,
    cpusetCpus: change.cpusetCpus || old.cpusetCpus,
    cpusetMems: change.cpusetMems || old.cpusetMems,
    hugepageLimits: [...sizes.values()],
    unified: { ...old.unified, ...change.unified },
  };
}
