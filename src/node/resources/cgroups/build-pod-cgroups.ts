import { type CriClient } from '#watch';
import { readCgroupDriver } from '../../runtime/cgroup-driver.js';
import { type CgroupNames, toCgroupNames } from '../../runtime/config/pod-cgroup-names.js';
import { readCgroupParent } from '../../runtime/config/read-cgroup-parent.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { type AgentOptions } from '../../options/agent-options.js';
import { type ReserveOptions } from '../../options/reserve-options.js';
import { computeCapacity } from '../facts/node-capacity.js';
import { type CapacityOptions, readKernelFacts, readMachineAmounts } from '../facts/read-capacity-facts.js';
import { AllocatableLimits } from './allocatable-limits.js';
import { type CgroupDriverRecord } from './cgroup-driver-record.js';
import { CgroupDriverWatch } from './cgroup-driver-watch.js';
import { ClassReserve } from './class-reserve.js';
import { GroupLimits } from './group-limits.js';
import { GroupTrees } from './group-trees.js';
import { MemoryProtection } from './memory-protection.js';
import { PodCgroups } from './pod-cgroups.js';
import { setSlice } from './set-slice.js';
import { SliceLimits } from './slice-limits.js';
import { stopSlice } from './stop-slice.js';

/** What {@link buildPodCgroups} needs. */
export interface PodCgroupsGiven {
  readonly options: ReserveOptions &
    CapacityOptions &
    Pick<
      AgentOptions,
      | 'memoryReservationPolicy'
      | 'qosReserved'
      | 'cgroupDriver'
      | 'cgroupRoot'
      | 'cgroupsPerQos'
      | 'cpuCfsQuota'
      | 'cpuCfsQuotaPeriodMs'
      | 'podPidsLimit'
    >;
  readonly instanceId: string;
  readonly client: CriClient;
  /** The runtime's name for itself. */
  readonly runtimeName: string;
  readonly record: CgroupDriverRecord;
  /** The text of /proc/self/mountinfo; empty if there is none. */
  readonly mountinfo: string;
  readonly ownUids: () => Iterable<string>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Timeout for asking the driver: a runtime that has just returned its status answers that at once. */
const ASK_TIMEOUT_MS = 5_000;

/** The cgroups of pods as configured, the limits of all pods together, and the part that detects the driver. */
export function buildPodCgroups(given: PodCgroupsGiven): {
  readonly cgroupDriver: CgroupDriverWatch;
  readonly cgroups: PodCgroups;
  readonly allocatable: AllocatableLimits;
  readonly protection: MemoryProtection;
} {
  const { options, instanceId, client, runtimeName, record, mountinfo, ownUids, clock, logger } = given;
  const cgroupDriver = new CgroupDriverWatch({
    ...{ clock, logger, record, runtimeName, configured: options.cgroupDriver },
    ask: (signal) => readCgroupDriver(client, { signal, timeoutMs: ASK_TIMEOUT_MS }),
  });
  const trees = new GroupTrees(mountinfo);
  const limits = new GroupLimits(mountinfo);
  const allocatable = new AllocatableLimits({
    ...{ options, trees, limits, setSlice, clock, logger },
    readMachine: async () => readMachineAmounts(runtimeName),
  });
  const protection = new MemoryProtection({
    ...{ limits, setSlice, logger },
    isReserved: options.memoryReservationPolicy === 'TieredReservation',
  });
  const reserve = new ClassReserve({
    ...{ limits, setSlice, logger, percent: Number.parseInt(options.qosReserved['memory'] ?? '0', 10) },
    readAllocatable: async () => {
      const facts = await readKernelFacts(options, runtimeName);
      return computeCapacity({ ...facts, storageBytes: undefined }).memoryBytes;
    },
  });
  const cgroups = new PodCgroups({
    ...{ ownUids, stopSlice, logger, trees, limits, allocatable, protection, reserve },
    slices: new SliceLimits({ limits, trees, setSlice }),
    enabled: options.cgroupsPerQos,
    ownRoot: ownCgroupRoot(instanceId),
    root: options.cgroupRoot === '' ? undefined : toCgroupNames(options.cgroupRoot),
    driver: cgroupDriver,
    cpuCfsQuota: options.cpuCfsQuota,
    cpuCfsPeriodUs: Math.round(options.cpuCfsQuotaPeriodMs * 1_000),
    podPidsLimit: options.podPidsLimit,
    readParent: (sandboxId, signal, pod) => readCgroupParent(client, sandboxId, { signal, pod }),
  });
  return { cgroupDriver, cgroups, allocatable, protection };
}

/** The group above those of an agent's pods: no other agent has it, and no kubelet. */
export function ownCgroupRoot(instanceId: string): CgroupNames {
  return ['podloop', instanceId.slice(0, 8)];
}
