/**
 * The usage of the node as a whole, from the files of /proc, which are the same on both versions of cgroups.
 *
 * That also works where cgroups are unreadable.
 *
 * Source: proc_stat(5), proc_meminfo(5), proc_vmstat(5), proc_pid_net(5), proc_loadavg(5). The working set is
 * cAdvisor's for a machine: used memory without file pages that were not used lately.
 *
 * @module
 */
import { findDefaultLink } from '#base/proc/net-tables.js';
import { findBootSeconds, findBytes } from '#base/proc/proc-text.js';
import { type InterfaceUsage as RawInterface, parseNetDev } from '#base/proc/usage/network-usage.js';
import { parsePressure, type Pressure } from '#base/proc/usage/pressure.js';
import { readFile } from 'node:fs/promises';
import { type InterfaceUsage } from '#watch';

/** Bytes, counts and nanoseconds; undefined for unreadable values. */
export interface NodeUsage {
  /** Milliseconds since the epoch. */
  readonly atMs: number;
  /** CPU time since the node's start, over all cores. */
  readonly cpuTotalNs: number | undefined;
  readonly memory: NodeMemory | undefined;
  /** That of the default route first; without loopback and the node's ends of pods' networks. */
  readonly interfaces: readonly InterfaceUsage[];
  /** The number of processes and threads, and its limit. */
  readonly tasks: number | undefined;
  readonly taskLimit: number | undefined;
  /** Milliseconds since the epoch. */
  readonly startedAtMs: number | undefined;
  /** How long processes waited; empty on a kernel without PSI. */
  readonly pressure: NodePressure;
}

/** Pressure stall information of the whole node, on either version of cgroups. */
export interface NodePressure {
  readonly cpu?: Pressure | undefined;
  readonly memory?: Pressure | undefined;
  readonly io?: Pressure | undefined;
}

/** The node's memory. */
export interface NodeMemory {
  readonly capacityBytes: number;
  readonly usageBytes: number;
  readonly workingSetBytes: number;
  readonly availableBytes: number;
  readonly rssBytes: number | undefined;
  readonly cacheBytes: number | undefined;
  readonly mappedBytes: number | undefined;
  readonly pageFaults: number | undefined;
  readonly majorPageFaults: number | undefined;
  /** Processes that the kernel killed for lack of memory. */
  readonly oomKills: number | undefined;
  readonly swapBytes: number;
  readonly swapUsageBytes: number;
}

const PRESSURE_FILES = ['pressure/cpu', 'pressure/memory', 'pressure/io'];
const TASK_FILES = ['loadavg', 'sys/kernel/pid_max', 'sys/kernel/threads-max'];
/** Linux shows CPU time to programs in hundredths of a second. */
const NS_PER_TICK = 10_000_000;
/** `user nice system iowait irq softirq steal`; guest time is part of user, and idle is not usage. */
const BUSY_COLUMNS = [1, 2, 3, 6, 7, 8];
/** The node's ends of pairs with pods, bridges of pods, and the like. */
const NOT_THE_NODES = /^(lo|veth.*|cali.*|lxc.*|cni\d*|docker\d*|podloop.*|plv.*|ifb\d+)$/;

/** How much memory is left, and of process ids. */
export type NodeRoom = Pick<NodeUsage, 'tasks' | 'taskLimit'> & {
  readonly memory: Pick<NodeMemory, 'availableBytes' | 'capacityBytes'> | undefined;
};

/** Reads what is left, from few and small files, as it is read every second. Never rejects, as {@link readNodeUsage}. */
export async function readNodeRoom(root = '/proc'): Promise<NodeRoom> {
  const [meminfo, loadavg, pidMax, threadsMax] = await readAll(root, ['meminfo', ...TASK_FILES]);
  return { memory: parseMemory(meminfo!, ''), ...parseTasks(loadavg!, pidMax!, threadsMax!) };
}

/** Reads the node's usage. Never rejects: unreadable values are undefined. */
export async function readNodeUsage(nowMs: number, root = '/proc'): Promise<NodeUsage> {
  const [stat, meminfo, vmstat, netDev, route, loadavg, pidMax, threadsMax, ...pressures] = await readAll(
    root,
    [...['stat', 'meminfo', 'vmstat', 'net/dev', 'net/route'], ...TASK_FILES, ...PRESSURE_FILES],
  );
  const [cpu, memory, io] = pressures.map(parsePressure);
  return {
    atMs: nowMs,
    cpuTotalNs: parseCpu(stat!),
    memory: parseMemory(meminfo!, vmstat!),
    interfaces: sortInterfaces(parseNetDev(netDev!).map(toInterface), route!),
    ...parseTasks(loadavg!, pidMax!, threadsMax!),
    startedAtMs: times(1000, findBootSeconds(stat!)),
    pressure: { cpu, memory, io },
  };
}

/** An unreadable file is empty. */
async function readAll(root: string, names: readonly string[]): Promise<string[]> {
  return await Promise.all(names.map(async (name) => readFile(`${root}/${name}`, 'latin1').catch(() => '')));
}

function parseTasks(
  loadavg: string,
  pidMax: string,
  threadsMax: string,
): Pick<NodeUsage, 'tasks' | 'taskLimit'> {
  const limits = [pidMax, threadsMax].flatMap((text) => toNumber(text.trim()) ?? []);
  return {
    tasks: toNumber(/^\S+ \S+ \S+ \d+\/(\d+)/.exec(loadavg)?.[1]),
    taskLimit: limits.length === 0 ? undefined : Math.min(...limits),
  };
}

function parseCpu(stat: string): number | undefined {
  const columns = /^cpu +(.*)$/m.exec(stat)?.[0].split(/ +/);
  if (columns === undefined) return undefined;
  return BUSY_COLUMNS.reduce((sum, column) => sum + (toNumber(columns[column]) ?? 0), 0) * NS_PER_TICK;
}

function parseMemory(meminfo: string, vmstat: string): NodeMemory | undefined {
  const bytesOf = (name: string): number | undefined => findBytes(meminfo, name);
  const count = (name: string): number | undefined =>
    toNumber(new RegExp(`^${name} (\\d+)$`, 'm').exec(vmstat)?.[1]);
  const [capacityBytes, freeBytes] = [bytesOf('MemTotal'), bytesOf('MemFree')];
  if (capacityBytes === undefined || freeBytes === undefined) return undefined;
  const usageBytes = capacityBytes - freeBytes;
  const workingSetBytes = Math.max(0, usageBytes - (bytesOf('Inactive(file)') ?? 0));
  const swapBytes = bytesOf('SwapTotal') ?? 0;
  return {
    ...{ capacityBytes, usageBytes, workingSetBytes, swapBytes },
    availableBytes: capacityBytes - workingSetBytes,
    rssBytes: bytesOf('AnonPages'),
    cacheBytes: bytesOf('Cached'),
    mappedBytes: bytesOf('Mapped'),
    pageFaults: count('pgfault'),
    majorPageFaults: count('pgmajfault'),
    oomKills: count('oom_kill'),
    swapUsageBytes: swapBytes - (bytesOf('SwapFree') ?? swapBytes),
  };
}

/** The interface of the default route comes first. */
function sortInterfaces(interfaces: readonly InterfaceUsage[], route: string): InterfaceUsage[] {
  const first = findDefaultLink(route);
  const own = interfaces.filter(({ name }) => name === first || !NOT_THE_NODES.test(name));
  return own.sort((one, other) => Number(other.name === first) - Number(one.name === first));
}

function toInterface({ name, received, sent }: RawInterface): InterfaceUsage {
  return {
    ...{ name, rxBytes: Number(received.bytes), txBytes: Number(sent.bytes) },
    ...{ rxErrors: Number(received.errors), txErrors: Number(sent.errors) },
  };
}

function toNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}

function times(factor: number, value: number | undefined): number | undefined {
  return value === undefined ? undefined : value * factor;
}
