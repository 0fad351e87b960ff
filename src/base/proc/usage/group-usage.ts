/**
 * What a group of processes has used and uses, read from the control files of cgroups.
 *
 * Source: the kernel's documentation of cgroup-v1 (memory, cpuacct) and cgroup-v2. CRI's fields are derived
 * as in containerd and cAdvisor: the working set is the usage without inactive file pages, rss is anonymous
 * memory.
 *
 * @module
 */
import { type CgroupLayout } from '../cgroups/cgroup-layout.js';
import { UNLIMITED } from './usage-limits.js';
import { type Pressure, readPressure } from './pressure.js';

/** Bytes, counts and nanoseconds. What the machine does not report, or was not requested, is undefined. */
export interface GroupUsage {
  readonly cpu: CpuUse | undefined;
  readonly memory: MemoryUse | undefined;
  readonly pids: PidsUse | undefined;
  readonly io: readonly DeviceUse[];
  readonly hugepages: readonly HugepageUse[];
  /** Pressure stall information: only with a tree of version 2. */
  readonly pressure: { readonly [resource in 'cpu' | 'memory' | 'io']?: Pressure };
}

/** CPU time since the group was created. */
export interface CpuUse {
  readonly totalNs: bigint;
  readonly userNs: bigint | undefined;
  readonly systemNs: bigint | undefined;
  /** Periods of the quota: all of them, those with throttling, and the total time throttled. */
  readonly periods: bigint | undefined;
  readonly throttledPeriods: bigint | undefined;
  readonly throttledNs: bigint | undefined;
}

/** Memory of a group and its descendants. */
export interface MemoryUse {
  readonly usageBytes: bigint | undefined;
  readonly workingSetBytes: bigint | undefined;
  readonly rssBytes: bigint | undefined;
  readonly cacheBytes: bigint | undefined;
  /** Pages of the page cache: recently used ones, and the others. */
  readonly activeFileBytes: bigint | undefined;
  readonly inactiveFileBytes: bigint | undefined;
  readonly mappedFileBytes: bigint | undefined;
  readonly kernelBytes: bigint | undefined;
  readonly pageFaults: bigint | undefined;
  readonly majorPageFaults: bigint | undefined;
  readonly swapBytes: bigint | undefined;
  /** Undefined if there is no limit. */
  readonly limitBytes: bigint | undefined;
  /** The limit of swap alone; undefined if there is none. */
  readonly swapLimitBytes: bigint | undefined;
  readonly highestUsageBytes: bigint | undefined;
  /** How often the limit was reached. */
  readonly limitHits: bigint | undefined;
  /** How many processes were killed for lack of memory. */
  readonly oomKills: bigint | undefined;
  /** Only for groups; what the version of cgroups does not count is undefined. */
  readonly reclaim?: MemoryReclaim;
}

/** The kernel's reclaim of a group's memory. */
export interface MemoryReclaim {
  /** Pages of the page cache that are not on the disk yet, and those being written to it. */
  readonly dirtyBytes: bigint | undefined;
  readonly writebackBytes: bigint | undefined;
  readonly scannedPages: bigint | undefined;
  readonly reclaimedPages: bigint | undefined;
  /** Pages that were reclaimed and soon needed again. */
  readonly fileRefaults: bigint | undefined;
  readonly anonymousRefaults: bigint | undefined;
  /** How often memory.high and memory.max were reached. */
  readonly highEvents: bigint | undefined;
  readonly maxEvents: bigint | undefined;
}

/** Processes and threads of a group. */
export interface PidsUse {
  readonly threads: bigint;
  /** Zero for no limit. */
  readonly threadLimit: bigint | undefined;
}

/** How much to read: metrics need more files than statistics. */
export type UsageDetail = 'stats' | 'metrics';

/** Reads what a group uses; about ten small files for statistics, twenty for metrics. */
export function readGroupUsage(layout: CgroupLayout, group: string, detail: UsageDetail): GroupUsage {
  const v1 = layout.version === 1;
  const all = detail === 'metrics';
  return {
    cpu: v1 ? readCpuV1(layout, group, all) : readCpuV2(layout, group),
    memory: v1 ? readMemoryV1(layout, group, all) : readMemoryV2(layout, group, all),
    pids: readPids(layout, group),
    io: all ? readDeviceUses(layout, group) : [],
    hugepages: all ? readHugepageUses(layout, group) : [],
    pressure: readPressure(layout, group),
  };
}

/**
 * How many processes of a group were killed for lack of memory; undefined if the machine does not report it.
 */
export function readOomKills(layout: CgroupLayout, group: string): bigint | undefined {
  const file = layout.version === 1 ? 'memory.oom_control' : 'memory.events';
  return new Table(layout.read('memory', group, file)).get('oom_kill');
}

function readCpuV1(layout: CgroupLayout, group: string, all: boolean): CpuUse | undefined {
  const read = (file: string): bigint | undefined => toNumber(layout.read('cpuacct', group, file));
  const totalNs = read('cpuacct.usage');
  if (totalNs === undefined) return undefined;
  const stat = all ? readCpuStat(layout, group) : new Table(undefined);
  return {
    totalNs,
    userNs: all ? read('cpuacct.usage_user') : undefined,
    systemNs: all ? read('cpuacct.usage_sys') : undefined,
    periods: stat.get('nr_periods'),
    throttledPeriods: stat.get('nr_throttled'),
    throttledNs: stat.get('throttled_time'),
  };
}

function readCpuV2(layout: CgroupLayout, group: string): CpuUse | undefined {
  const stat = readCpuStat(layout, group);
  const totalNs = times1000(stat.get('usage_usec'));
  if (totalNs === undefined) return undefined;
  return {
    totalNs,
    userNs: times1000(stat.get('user_usec')),
    systemNs: times1000(stat.get('system_usec')),
    periods: stat.get('nr_periods'),
    throttledPeriods: stat.get('nr_throttled'),
    throttledNs: times1000(stat.get('throttled_usec')),
  };
}

function readCpuStat(layout: CgroupLayout, group: string): Table {
  return new Table(layout.read('cpu', group, 'cpu.stat'));
}

function readMemoryV1(layout: CgroupLayout, group: string, all: boolean): MemoryUse | undefined {
  const read = (file: string): string | undefined => layout.read('memory', group, file);
  const usageBytes = toNumber(read('memory.usage_in_bytes'));
  if (usageBytes === undefined) return undefined;
  const stat = new Table(read('memory.stat'));
  const limitBytes = toLimit(stat.get('hierarchical_memory_limit'));
  const both = toLimit(stat.get('hierarchical_memsw_limit'));
  return {
    usageBytes,
    workingSetBytes: subtract(usageBytes, stat.get('total_inactive_file')),
    rssBytes: stat.get('total_rss'),
    cacheBytes: stat.get('total_cache'),
    activeFileBytes: stat.get('total_active_file'),
    inactiveFileBytes: stat.get('total_inactive_file'),
    mappedFileBytes: stat.get('total_mapped_file'),
    kernelBytes: all ? toNumber(read('memory.kmem.usage_in_bytes')) : undefined,
    pageFaults: stat.get('total_pgfault'),
    majorPageFaults: stat.get('total_pgmajfault'),
    swapBytes: stat.get('total_swap'),
    limitBytes,
    swapLimitBytes: both === undefined ? undefined : subtract(both, limitBytes),
    highestUsageBytes: all ? toNumber(read('memory.max_usage_in_bytes')) : undefined,
    limitHits: all ? toNumber(read('memory.failcnt')) : undefined,
    oomKills: all ? readOomKills(layout, group) : undefined,
    reclaim: {
      dirtyBytes: stat.get('total_dirty'),
      writebackBytes: stat.get('total_writeback'),
      ...{ scannedPages: undefined, reclaimedPages: undefined },
      fileRefaults: stat.get('total_workingset_refault_file'),
      anonymousRefaults: stat.get('total_workingset_refault_anon'),
      ...{ highEvents: undefined, maxEvents: undefined },
    },
  };
}

function readMemoryV2(layout: CgroupLayout, group: string, all: boolean): MemoryUse | undefined {
  const read = (file: string): string | undefined => layout.read('memory', group, file);
  const usageBytes = toNumber(read('memory.current'));
  if (usageBytes === undefined) return undefined;
  const stat = new Table(read('memory.stat'));
  const events = all ? new Table(read('memory.events')) : new Table(undefined);
  return {
    usageBytes,
    workingSetBytes: subtract(usageBytes, stat.get('inactive_file')),
    rssBytes: stat.get('anon'),
    cacheBytes: stat.get('file'),
    activeFileBytes: stat.get('active_file'),
    inactiveFileBytes: stat.get('inactive_file'),
    mappedFileBytes: stat.get('file_mapped'),
    kernelBytes: stat.get('kernel'),
    pageFaults: stat.get('pgfault'),
    majorPageFaults: stat.get('pgmajfault'),
    swapBytes: toNumber(read('memory.swap.current')),
    limitBytes: toNumber(read('memory.max')),
    swapLimitBytes: toNumber(read('memory.swap.max')),
    highestUsageBytes: all ? toNumber(read('memory.peak')) : undefined,
    limitHits: events.get('max'),
    oomKills: events.get('oom_kill'),
    reclaim: {
      dirtyBytes: stat.get('file_dirty'),
      writebackBytes: stat.get('file_writeback'),
      scannedPages: stat.get('pgscan'),
      reclaimedPages: stat.get('pgsteal'),
      fileRefaults: stat.get('workingset_refault_file'),
      anonymousRefaults: stat.get('workingset_refault_anon'),
      highEvents: events.get('high'),
      maxEvents: events.get('max'),
    },
  };
}

function readPids(layout: CgroupLayout, group: string): PidsUse | undefined {
  const threads = toNumber(layout.read('pids', group, 'pids.current'));
  if (threads === undefined) return undefined;
  return {
    threads,
    threadLimit: toThreadLimit(layout.read('pids', group, 'pids.max')),
  };
}

/**
 * Lines with a name and a number each, about fifty in memory.stat.
 *
 * Only requested numbers are parsed: on a node with a thousand groups, parsing is most of the cost besides
 * the kernel's.
 */
class Table {
  readonly #text: string;

  constructor(text: string | undefined) {
    this.#text = `\n${text ?? ''}`;
  }

  get(name: string): bigint | undefined {
    const at = this.#text.indexOf(`\n${name} `);
    if (at < 0) return undefined;
    const start = at + name.length + 2;
    const end = this.#text.indexOf('\n', start);
    return toNumber(this.#text.slice(start, end < 0 ? undefined : end));
  }
}

/** Undefined for `max`, and for a missing text. */
function toNumber(text: string | undefined): bigint | undefined {
  const digits = text?.trim() ?? '';
  return /^\d+$/.test(digits) ? BigInt(digits) : undefined;
}

function toThreadLimit(text: string | undefined): bigint | undefined {
  return text?.trim() === 'max' ? 0n : toNumber(text);
}

function toLimit(value: bigint | undefined): bigint | undefined {
  return value === undefined || value >= UNLIMITED ? undefined : value;
}

function subtract(value: bigint, part = 0n): bigint {
  return value > part ? value - part : 0n;
}

function times1000(value: bigint | undefined): bigint | undefined {
  return value === undefined ? undefined : value * 1000n;
}

/** Bytes and operations that a group has read from and written to one device. */
interface DeviceUse {
  /** For example `254:0`. */
  readonly device: string;
  readonly readBytes: bigint;
  readonly writtenBytes: bigint;
  readonly reads: bigint;
  readonly writes: bigint;
}

/** Huge pages of one size. */
interface HugepageUse {
  /** For example `2MB`. */
  readonly pageSize: string;
  readonly usageBytes: bigint;
  readonly highestUsageBytes: bigint | undefined;
}

type Counter = Exclude<keyof DeviceUse, 'device'>;

const V2_COUNTERS: Readonly<Record<string, Counter>> = {
  rbytes: 'readBytes',
  wbytes: 'writtenBytes',
  rios: 'reads',
  wios: 'writes',
};

/** What a group has read and written, by device, as far as the machine counts it. */
function readDeviceUses(layout: CgroupLayout, group: string): readonly DeviceUse[] {
  const uses = new Map<string, Record<Counter, bigint>>();
  const add = (device: string, counter: Counter | undefined, value: string): void => {
    if (counter === undefined || !/^\d+$/.test(value)) return;
    const use = uses.get(device) ?? { readBytes: 0n, writtenBytes: 0n, reads: 0n, writes: 0n };
    uses.set(device, use);
    use[counter] += BigInt(value);
  };
  for (const line of linesOf(layout.read('io', group, 'io.stat'))) {
    const [device = '', ...pairs] = line.split(' ');
    for (const [name = '', value = ''] of pairs.map((pair) => pair.split('='))) {
      add(device, V2_COUNTERS[name], value);
    }
  }
  const v1 = [
    ['blkio.throttle.io_service_bytes_recursive', { Read: 'readBytes', Write: 'writtenBytes' }],
    ['blkio.throttle.io_serviced_recursive', { Read: 'reads', Write: 'writes' }],
  ] as const;
  for (const [file, counters] of v1) {
    for (const line of linesOf(layout.read('blkio', group, file))) {
      const [device = '', operation = '', value = ''] = line.split(' ');
      add(device, (counters as Readonly<Record<string, Counter>>)[operation], value);
    }
  }
  return [...uses].map(([device, use]) => ({ device, ...use }));
}

/** The possible sizes of huge pages; a group has a file for each size of the machine. */
const PAGE_SIZES = ['64KB', '1MB', '2MB', '16MB', '32MB', '512MB', '1GB', '16GB'];

/** A group's huge pages, for every size of the machine. */
function readHugepageUses(layout: CgroupLayout, group: string): readonly HugepageUse[] {
  const hierarchy = layout.find('hugetlb');
  if (hierarchy === undefined) return [];
  const [usage, highest] =
    hierarchy.version === 1 ? ['usage_in_bytes', 'max_usage_in_bytes'] : ['current', 'peak'];
  const read = (pageSize: string, file: string): bigint | undefined => {
    const text = layout.read('hugetlb', group, `hugetlb.${pageSize}.${file}`)?.trim() ?? '';
    return /^\d+$/.test(text) ? BigInt(text) : undefined;
  };
  return PAGE_SIZES.flatMap((pageSize) => {
    const usageBytes = read(pageSize, usage);
    if (usageBytes === undefined) return [];
    return [{ pageSize, usageBytes, highestUsageBytes: read(pageSize, highest) }];
  });
}

function linesOf(text: string | undefined): string[] {
  return (text ?? '').split('\n').filter((line) => line !== '');
}
