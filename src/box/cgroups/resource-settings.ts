/**
 * Turns the limits of CRI's LinuxContainerResources into control files of cgroups.
 *
 * Source: LinuxContainerResources of CRI v1; the kernel's documentation of cgroup-v1 and cgroup-v2. Zero and empty
 * fields of the message mean "not set"; -1 means "no limit". An update takes all that holds from then on, what was
 * set before included.
 *
 * @module
 */
import { type LinuxContainerResources } from '#watch/messages';
import { invalidArgument } from '../rpc-error.js';

/** One control file to be written. */
export interface Setting {
  readonly controller: string;
  readonly file: string;
  readonly value: string;
  /** Without the controller or the file there is an error; the others are then without effect, as Status says. */
  readonly required?: boolean;
  /** Part of a pair that the kernel takes in one order when raised and in the other when lowered. */
  readonly pair?: string;
}

/** Values above are no quantity but a mistake: 2^53, where JSON's numbers end. */
const MAX_VALUE = 2n ** 53n;
const CPU_LIST = /^\d+(-\d+)?(,\d+(-\d+)?)*$/;
/** Agents send these for every container; where memory has no limit they are without effect. */
const ALWAYS_SENT: ReadonlySet<string> = new Set(['memory.oom.group', 'memory.swap.max']);
/** A file of a controller: `memory.high`, `hugetlb.2MB.max`. Those of the group itself, `cgroup.*`, are not limits. */
const UNIFIED_KEY = /^(?!cgroup\.)[a-z][a-z0-9_]*(\.[A-Za-z0-9_]+)+$/;

/** The settings for a tree of that version, in the order of writing. Nonsense is INVALID_ARGUMENT. */
export function computeSettings(
  resources: LinuxContainerResources | undefined,
  version: 1 | 2,
): readonly Setting[] {
  if (resources === undefined) return [];
  checkResources(resources);
  return [
    ...(version === 1 ? cpuV1(resources) : cpuV2(resources)),
    ...cpuset(resources),
    ...(version === 1 ? memoryV1(resources) : memoryV2(resources)),
    ...hugepages(resources, version),
    ...unified(resources, version),
  ];
}

/**
 * The weight of version 2 (1 to 10,000) for a share of version 1 (2 to 262,144).
 *
 * Both scales' ends and their defaults, 1024 and 100, meet: with l the binary logarithm of the share, the decimal
 * logarithm of the weight is (l² + 125 l) / 612 - 7 / 34.
 */
export function toCpuWeight(shares: number): number {
  const l = Math.log2(Math.min(262_144, Math.max(2, shares)));
  // Rounded first, so that a power of ten is not missed by the last bit.
  const weight = 10 ** ((l * l + 125 * l) / 612 - 7 / 34);
  return Math.ceil(Number(weight.toFixed(9)));
}

function checkResources(resources: LinuxContainerResources): void {
  const { cpuPeriod, cpuQuota, cpuShares, memoryLimitInBytes, memorySwapLimitInBytes } = resources;
  const numbers = { cpuPeriod, cpuQuota, cpuShares, memoryLimitInBytes, memorySwapLimitInBytes };
  for (const [name, value] of Object.entries(numbers)) {
    const lowest = name === 'cpuPeriod' || name === 'cpuShares' ? 0n : -1n;
    if (value < lowest || value > MAX_VALUE) throw invalidArgument(`linux.resources: ${name} is ${value}`);
  }
  for (const list of [resources.cpusetCpus, resources.cpusetMems]) {
    if (list !== '' && !CPU_LIST.test(list)) throw invalidArgument(`linux.resources: "${list}" is no cpuset`);
  }
  const { oomScoreAdj } = resources;
  if (oomScoreAdj < -1000n || oomScoreAdj > 1000n) {
    throw invalidArgument(`linux.resources: oomScoreAdj is ${oomScoreAdj}`);
  }
  if (memorySwapLimitInBytes > 0n && !isBetween(1n, memoryLimitInBytes, memorySwapLimitInBytes)) {
    throw invalidArgument(
      'linux.resources: a limit of memory and swap needs one of memory that is not above it',
    );
  }
}

function isBetween(lowest: bigint, value: bigint, highest: bigint): boolean {
  return lowest <= value && value <= highest;
}

function cpuV1({ cpuShares, cpuQuota, cpuPeriod }: LinuxContainerResources): Setting[] {
  const settings: Setting[] = [];
  const add = (file: string, value: bigint, pair?: string): void => {
    if (value !== 0n) settings.push({ controller: 'cpu', file, value: String(value), pair });
  };
  add('cpu.shares', cpuShares);
  add('cpu.cfs_period_us', cpuPeriod, 'quota');
  add('cpu.cfs_quota_us', cpuQuota, 'quota');
  return settings;
}

function cpuV2({ cpuShares, cpuQuota, cpuPeriod }: LinuxContainerResources): Setting[] {
  const settings: Setting[] = [];
  if (cpuShares !== 0n) {
    const value = String(toCpuWeight(Number(cpuShares)));
    settings.push({ controller: 'cpu', file: 'cpu.weight', value });
  }
  if (cpuQuota !== 0n || cpuPeriod !== 0n) {
    const quota = cpuQuota > 0n ? String(cpuQuota) : 'max';
    const value = cpuPeriod === 0n ? quota : `${quota} ${cpuPeriod}`;
    settings.push({ controller: 'cpu', file: 'cpu.max', value });
  }
  return settings;
}

function cpuset({ cpusetCpus, cpusetMems }: LinuxContainerResources): Setting[] {
  const files = { 'cpuset.cpus': cpusetCpus, 'cpuset.mems': cpusetMems };
  return Object.entries(files)
    .filter(([, value]) => value !== '')
    .map(([file, value]) => ({ controller: 'cpuset', file, value, required: true }));
}

/** Without a word about swap there is none beyond the memory's limit, as with containerd. */
function memoryV1(resources: LinuxContainerResources): Setting[] {
  const { memoryLimitInBytes: limit, memorySwapLimitInBytes } = resources;
  const both = memorySwapLimitInBytes === 0n ? limit : memorySwapLimitInBytes;
  const settings: Setting[] = [];
  const add = (file: string, value: bigint): void => {
    if (value !== 0n) settings.push({ controller: 'memory', file, value: String(value), pair: 'memory' });
  };
  add('memory.limit_in_bytes', limit);
  add('memory.memsw.limit_in_bytes', both);
  return settings;
}

function memoryV2(resources: LinuxContainerResources): Setting[] {
  const { memoryLimitInBytes: limit, memorySwapLimitInBytes: both } = resources;
  const settings: Setting[] = [];
  const add = (file: string, value: string): void => {
    settings.push({ controller: 'memory', file, value });
  };
  if (limit !== 0n) add('memory.max', limit === -1n ? 'max' : String(limit));
  // Version 2 counts swap by itself.
  if (both === -1n || (both === 0n && limit === -1n)) add('memory.swap.max', 'max');
  else if (limit > 0n) add('memory.swap.max', both === 0n ? '0' : String(both - limit));
  return settings;
}

function hugepages({ hugepageLimits }: LinuxContainerResources, version: 1 | 2): Setting[] {
  return hugepageLimits.map(({ pageSize, limit }) => {
    if (!/^[1-9]\d*[KMGT]B$/.test(pageSize) || limit > MAX_VALUE) {
      throw invalidArgument(`linux.resources: huge pages of "${pageSize}", limit ${limit}`);
    }
    const file = `hugetlb.${pageSize}.${version === 1 ? 'limit_in_bytes' : 'max'}`;
    // Agents send a limit of zero for every size; without the controller it is without effect.
    return { controller: 'hugetlb', file, value: String(limit), required: limit > 0n };
  });
}

function unified({ unified: files }: LinuxContainerResources, version: 1 | 2): Setting[] {
  return Object.entries(files).map(([file, value]) => {
    if (!UNIFIED_KEY.test(file)) {
      throw invalidArgument(`linux.resources.unified: "${file}" is no file of a controller`);
    }
    // CRI has no other way to limit the number of processes, and this file is the same in both versions.
    if (version === 1 && file !== 'pids.max') {
      throw invalidArgument(`linux.resources.unified: "${file}" needs cgroup version 2, this machine has 1`);
    }
    return { controller: file.slice(0, file.indexOf('.')), file, value, required: !ALWAYS_SENT.has(file) };
  });
}
