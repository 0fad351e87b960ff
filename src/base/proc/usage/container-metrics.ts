/**
 * The metrics of pods and containers, with cAdvisor's names and units, as dashboards and alerts use these.
 *
 * What a machine does not count is omitted.
 *
 * @module
 */
import { type DiskFacts } from './disk-facts.js';
import { type GroupUsage } from './group-usage.js';
import { counter, gauge, onVersion2, type UsageMetric } from './usage-metric.js';
import { type UsageLimits } from './usage-limits.js';
import { type InterfaceUsage } from './network-usage.js';
import { type OpenFiles } from './process-usage.js';

/** The facts behind the metrics of one container; unknown values are undefined, and never zero. */
export interface ContainerFacts {
  readonly usage: GroupUsage;
  readonly limits: UsageLimits;
  readonly openFiles: OpenFiles | undefined;
  readonly openFileLimit: bigint | undefined;
  readonly processes: bigint | undefined;
  /** What it has written on top of its image. */
  readonly writable: { readonly bytes: bigint } | undefined;
  /** The file system that contains it. */
  readonly disk: DiskFacts | undefined;
  /** Nanoseconds since the epoch. */
  readonly startedAtNs: bigint | undefined;
  readonly seenAtNs: bigint;
}

const NS_PER_SECOND = 1_000_000_000n;
const US_PER_SECOND = 1_000_000n;

/** The metrics of a running container. */
export const CONTAINER_METRICS: readonly UsageMetric<ContainerFacts>[] = [
  counter(
    'container_cpu_usage_seconds_total',
    'CPU time used, in seconds.',
    ({ usage }) => usage.cpu?.totalNs,
    NS_PER_SECOND,
  ),
  counter(
    'container_cpu_user_seconds_total',
    'CPU time used by programs, in seconds.',
    ({ usage }) => usage.cpu?.userNs,
    NS_PER_SECOND,
  ),
  counter(
    'container_cpu_system_seconds_total',
    'CPU time used by the kernel, in seconds.',
    ({ usage }) => usage.cpu?.systemNs,
    NS_PER_SECOND,
  ),
  counter('container_cpu_cfs_periods_total', 'Periods of the CPU quota.', ({ usage }) => usage.cpu?.periods),
  counter(
    'container_cpu_cfs_throttled_periods_total',
    'Periods in which the CPU quota was used up.',
    ({ usage }) => usage.cpu?.throttledPeriods,
  ),
  counter(
    'container_cpu_cfs_throttled_seconds_total',
    'Time spent waiting for more of the CPU quota, in seconds.',
    ({ usage }) => usage.cpu?.throttledNs,
    NS_PER_SECOND,
  ),
  gauge(
    'container_spec_cpu_period',
    'Period of the CPU quota, in microseconds.',
    ({ limits }) => limits.cpuPeriod,
  ),
  gauge('container_spec_cpu_quota', 'CPU quota of a period, in microseconds.', ({ limits }) =>
    limits.cpuQuota === 0n ? undefined : limits.cpuQuota,
  ),
  gauge('container_spec_cpu_shares', 'Share of the CPU.', ({ limits }) => limits.cpuShares),

  gauge(
    'container_memory_usage_bytes',
    'Memory used, with the page cache.',
    ({ usage }) => usage.memory?.usageBytes,
  ),
  gauge(
    'container_memory_working_set_bytes',
    'Memory used, without file pages that were not used lately.',
    ({ usage }) => usage.memory?.workingSetBytes,
  ),
  gauge('container_memory_rss', 'Anonymous memory, in bytes.', ({ usage }) => usage.memory?.rssBytes),
  gauge('container_memory_cache', 'Page cache, in bytes.', ({ usage }) => usage.memory?.cacheBytes),
  gauge(
    'container_memory_mapped_file',
    'Mapped files, in bytes.',
    ({ usage }) => usage.memory?.mappedFileBytes,
  ),
  gauge(
    'container_memory_kernel_usage',
    'Memory of the kernel, in bytes.',
    ({ usage }) => usage.memory?.kernelBytes,
  ),
  gauge(
    'container_memory_total_active_file_bytes',
    'Page cache that was used lately, in bytes.',
    ({ usage }) => usage.memory?.activeFileBytes,
  ),
  gauge(
    'container_memory_total_inactive_file_bytes',
    'Page cache that was not used lately, in bytes.',
    ({ usage }) => usage.memory?.inactiveFileBytes,
  ),
  gauge('container_memory_swap', 'Swap used, in bytes.', ({ usage }) => usage.memory?.swapBytes),
  gauge(
    'container_memory_max_usage_bytes',
    'Highest memory use so far.',
    ({ usage }) => usage.memory?.highestUsageBytes,
  ),
  counter(
    'container_memory_failcnt',
    'How often the memory limit was met.',
    ({ usage }) => usage.memory?.limitHits,
  ),
  {
    name: 'container_memory_failures_total',
    help: 'Page faults.',
    type: 'counter',
    divisor: 1n,
    labels: ['failure_type', 'scope'],
    read: ({ usage }) => [
      { value: usage.memory?.pageFaults, labels: ['pgfault', 'hierarchy'] },
      { value: usage.memory?.majorPageFaults, labels: ['pgmajfault', 'hierarchy'] },
    ],
  },
  counter(
    'container_oom_events_total',
    'Processes killed for want of memory.',
    ({ usage }) => usage.memory?.oomKills,
  ),
  gauge(
    'container_memory_file_dirty_bytes',
    'Page cache that is not on the disk yet, in bytes.',
    ({ usage }) => usage.memory?.reclaim?.dirtyBytes,
  ),
  gauge(
    'container_memory_file_writeback_bytes',
    'Page cache that is being written to the disk, in bytes.',
    ({ usage }) => usage.memory?.reclaim?.writebackBytes,
  ),
  onVersion2(
    counter(
      'container_memory_pgscan_total',
      'Pages that were scanned to take memory back.',
      ({ usage }) => usage.memory?.reclaim?.scannedPages,
    ),
  ),
  onVersion2(
    counter(
      'container_memory_pgsteal_total',
      'Pages that were taken back.',
      ({ usage }) => usage.memory?.reclaim?.reclaimedPages,
    ),
  ),
  counter(
    'container_memory_workingset_refault_file_total',
    'Pages of files that were needed again after they were taken back.',
    ({ usage }) => usage.memory?.reclaim?.fileRefaults,
  ),
  counter(
    'container_memory_workingset_refault_anon_total',
    'Anonymous pages that were needed again after they were taken back.',
    ({ usage }) => usage.memory?.reclaim?.anonymousRefaults,
  ),
  onVersion2(
    counter(
      'container_memory_events_high_total',
      'How often memory.high was met.',
      ({ usage }) => usage.memory?.reclaim?.highEvents,
    ),
  ),
  onVersion2(
    counter(
      'container_memory_events_max_total',
      'How often memory.max was met.',
      ({ usage }) => usage.memory?.reclaim?.maxEvents,
    ),
  ),
  gauge('container_spec_memory_limit_bytes', 'Memory limit; 0 for none.', ({ limits }) => limits.memoryBytes),
  gauge(
    'container_spec_memory_swap_limit_bytes',
    'Limit of memory and swap together; 0 for none.',
    ({ limits }) => limits.memoryAndSwapBytes,
  ),

  gauge('container_processes', 'Processes.', ({ processes }) => processes),
  gauge('container_threads', 'Threads.', ({ usage }) => usage.pids?.threads),
  gauge(
    'container_threads_max',
    'Most threads that there may be; 0 for no limit.',
    ({ usage }) => usage.pids?.threadLimit,
  ),
  gauge('container_file_descriptors', 'Open files.', ({ openFiles }) => openFiles?.files),
  gauge('container_sockets', 'Open sockets.', ({ openFiles }) => openFiles?.sockets),
  {
    name: 'container_ulimits_soft',
    help: 'Soft limits of the first process.',
    type: 'gauge',
    divisor: 1n,
    labels: ['ulimit'],
    read: ({ openFileLimit }) => [{ value: openFileLimit, labels: ['max_open_files'] }],
  },
  gauge(
    'container_start_time_seconds',
    'Start, in seconds since 1970.',
    ({ startedAtNs }) => startedAtNs,
    NS_PER_SECOND,
  ),
  gauge(
    'container_last_seen',
    'When this was measured, in seconds since 1970.',
    ({ seenAtNs }) => seenAtNs,
    NS_PER_SECOND,
  ),

  gauge('container_fs_usage_bytes', 'Bytes written over the image.', ({ writable }) => writable?.bytes),
  gauge('container_fs_limit_bytes', 'Size of the file system.', ({ disk }) => disk?.sizeBytes),
  gauge('container_fs_inodes_total', 'Inodes of the file system.', ({ disk }) => disk?.inodes),
  gauge('container_fs_inodes_free', 'Free inodes of the file system.', ({ disk }) => disk?.freeInodes),
  ioCounter('container_fs_reads_bytes_total', 'Bytes read from devices.', (use) => use.readBytes),
  ioCounter('container_fs_reads_total', 'Reads from devices.', (use) => use.reads),
  ioCounter('container_fs_writes_bytes_total', 'Bytes written to devices.', (use) => use.writtenBytes),
  ioCounter('container_fs_writes_total', 'Writes to devices.', (use) => use.writes),
  {
    name: 'container_blkio_device_usage_total',
    help: 'Bytes read from and written to a device.',
    type: 'counter',
    divisor: 1n,
    labels: ['device', 'major', 'minor', 'operation'],
    read: ({ usage }) =>
      usage.io.flatMap(({ device, readBytes, writtenBytes }) => {
        const [major = '', minor = ''] = device.split(':');
        return [
          { value: readBytes, labels: [device, major, minor, 'Read'] },
          { value: writtenBytes, labels: [device, major, minor, 'Write'] },
        ];
      }),
  },
  {
    name: 'container_hugetlb_usage_bytes',
    help: 'Huge pages used, in bytes.',
    type: 'gauge',
    divisor: 1n,
    labels: ['pagesize'],
    read: ({ usage }) => usage.hugepages.map((use) => ({ value: use.usageBytes, labels: [use.pageSize] })),
  },
  {
    name: 'container_hugetlb_max_usage_bytes',
    help: 'Most huge pages used so far, in bytes.',
    type: 'gauge',
    divisor: 1n,
    labels: ['pagesize'],
    read: ({ usage }) =>
      usage.hugepages.map((use) => ({ value: use.highestUsageBytes, labels: [use.pageSize] })),
  },
  ...(['cpu', 'memory', 'io'] as const).flatMap((resource) => [
    counter<ContainerFacts>(
      `container_pressure_${resource}_waiting_seconds_total`,
      `Time in which a process waited for ${resource}, in seconds.`,
      ({ usage }) => usage.pressure[resource]?.some.totalUs,
      US_PER_SECOND,
    ),
    counter<ContainerFacts>(
      `container_pressure_${resource}_stalled_seconds_total`,
      `Time in which all processes waited for ${resource}, in seconds.`,
      ({ usage }) => usage.pressure[resource]?.full.totalUs,
      US_PER_SECOND,
    ),
  ]),
];

/** The metrics of a pod's network, for each interface. */
export const NETWORK_METRICS: readonly UsageMetric<readonly InterfaceUsage[]>[] = (
  [
    ['received', 'receive'],
    ['sent', 'transmit'],
  ] as const
).flatMap(([direction, word]) =>
  (
    [
      ['bytes', 'bytes', 'Bytes'],
      ['packets', 'packets', 'Packets'],
      ['errors', 'errors', 'Errors'],
      ['dropped', 'packets_dropped', 'Dropped packets'],
    ] as const
  ).map(([field, name, noun]) => ({
    name: `container_network_${word}_${name}_total`,
    help: `${noun} ${direction}.`,
    type: 'counter',
    divisor: 1n,
    labels: ['interface'],
    read: (interfaces: readonly InterfaceUsage[]) =>
      interfaces.map((each) => ({ value: each[direction][field], labels: [each.name] })),
  })),
);

function ioCounter(
  name: string,
  help: string,
  read: (use: GroupUsage['io'][number]) => bigint,
): UsageMetric<ContainerFacts> {
  return {
    name,
    help,
    type: 'counter',
    divisor: 1n,
    labels: ['device'],
    read: ({ usage }) => usage.io.map((use) => ({ value: read(use), labels: [use.device] })),
  };
}
