import { type ContainerLimits, cri } from '#watch';
import { type ContainerResources } from '../runtime-changes.js';

/** A change of a container's limits. */
export interface LimitChange {
  readonly cpu: boolean;
  readonly memory: boolean;
  readonly from: ContainerLimits;
  readonly to: ContainerLimits;
}

const NO_LIMIT = -1n;

/** The difference between actual and desired limits; undefined when there is none. Pure. */
export function findLimitChange(from: ContainerLimits, to: ContainerLimits): LimitChange | undefined {
  const cpu = !isSameCpu(from, to);
  const memory = from.memoryBytes !== to.memoryBytes;
  return cpu || memory ? { cpu, memory, from, to } : undefined;
}

/** The update for CRI: only what changes, as a runtime leaves the rest alone. Pure. */
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
  // Runtimes that do not report shares return 0.
  if (one.cpuShares !== 0n && one.cpuShares !== other.cpuShares) return false;
  if (one.cpuQuotaUs !== other.cpuQuotaUs) return false;
  return one.cpuQuotaUs === undefined || one.cpuPeriodUs === other.cpuPeriodUs;
}
