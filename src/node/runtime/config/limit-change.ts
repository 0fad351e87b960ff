import { type ContainerLimits, cri } from '#watch';
import { type ContainerResources } from '../runtime-changes.js';

/** What of a container's limits is to change. */
export interface LimitChange {
  readonly cpu: boolean;
  readonly memory: boolean;
  readonly from: ContainerLimits;
  readonly to: ContainerLimits;
}

const NO_LIMIT = -1n;

/** What differs between the limits that hold and those that should; undefined when nothing does. Pure. */
export function findLimitChange(from: ContainerLimits, to: ContainerLimits): LimitChange | undefined {
  const cpu = !isSameCpu(from, to);
  const memory = from.memoryBytes !== to.memoryBytes;
  return cpu || memory ? { cpu, memory, from, to } : undefined;
}

/** As CRI takes it: only what changes, as a runtime keeps the rest. Pure. */
export function toResourceUpdate({ cpu, memory, to }: LimitChange): ContainerResources {
  return cri.LinuxContainerResources.fromPartial({
    ...(cpu
      ? {
          cpuShares: to.cpuShares,
          cpuQuota: to.cpuQuotaUs ?? NO_LIMIT,
          ...(to.cpuPeriodUs === undefined ? {} : { cpuPeriod: to.cpuPeriodUs }),
        }
      : {}),
    ...(memory ? { memoryLimitInBytes: to.memoryBytes ?? NO_LIMIT } : {}),
  });
}

function isSameCpu(one: ContainerLimits, other: ContainerLimits): boolean {
  // Runtimes that know no shares say 0.
  if (one.cpuShares !== 0n && one.cpuShares !== other.cpuShares) return false;
  if (one.cpuQuotaUs !== other.cpuQuotaUs) return false;
  return one.cpuQuotaUs === undefined || one.cpuPeriodUs === other.cpuPeriodUs;
}
