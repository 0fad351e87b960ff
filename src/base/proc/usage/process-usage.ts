/**
 * The total usage of processes from /proc, for machines whose cgroups are not writable, and for the few
 * numbers that no cgroup counts.
 *
 * It differs from cgroups in two ways: the CPU time of a process that nobody has waited for is lost when it
 * exits, and shared memory counts for each process.
 *
 * @module
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { SliceYielder } from '../../async/slices.js';
import { findBytes, findSoftLimit, splitStatLine } from '../proc-text.js';
import { type CpuUse, type GroupUsage, type MemoryUse } from './group-usage.js';

/** The kernel's unit of time in /proc is a hundredth of a second on every machine that Node runs on. */
const TICK_NS = 10_000_000n;

interface ProcessNumbers {
  readonly userTicks: bigint;
  readonly systemTicks: bigint;
  readonly pageFaults: bigint;
  readonly majorPageFaults: bigint;
  readonly rssBytes: bigint;
  readonly anonBytes: bigint;
  readonly swapBytes: bigint;
  readonly threads: bigint;
}

/** Processes whose files are read concurrently. */
const SLICE = 32;

/**
 * Adds up the usage of these processes, including their waited-for children; those that are gone count as
 * nothing.
 *
 * @param isOver checked from time to time for the end of the allowed time. The result is undefined then, as a
 * sum over some of the processes would let counters go backwards.
 */
export async function sumProcessUsage(
  pids: readonly number[],
  isOver: () => boolean,
): Promise<GroupUsage | undefined> {
  const found: ProcessNumbers[] = [];
  for (let at = 0; at < pids.length; at += SLICE) {
    if (isOver()) return undefined;
    const slice = await Promise.all(pids.slice(at, at + SLICE).map(readNumbers));
    for (const each of slice) if (each !== undefined) found.push(each);
  }
  const sum = (pick: (each: ProcessNumbers) => bigint): bigint =>
    found.reduce((total, each) => total + pick(each), 0n);
  const userNs = sum((each) => each.userTicks) * TICK_NS;
  const systemNs = sum((each) => each.systemTicks) * TICK_NS;
  const cpu: CpuUse = {
    totalNs: userNs + systemNs,
    userNs,
    systemNs,
    periods: undefined,
    throttledPeriods: undefined,
    throttledNs: undefined,
  };
  const rssBytes = sum((each) => each.rssBytes);
  const anonBytes = sum((each) => each.anonBytes);
  const memory: MemoryUse = {
    ...NOTHING_KNOWN,
    usageBytes: rssBytes,
    workingSetBytes: rssBytes,
    rssBytes: anonBytes,
    pageFaults: sum((each) => each.pageFaults),
    majorPageFaults: sum((each) => each.majorPageFaults),
    swapBytes: sum((each) => each.swapBytes),
  };
  const threads = sum((each) => each.threads);
  return { cpu, memory, pids: { threads, threadLimit: undefined }, io: [], hugepages: [], pressure: {} };
}

const NOTHING_KNOWN = {
  cacheBytes: undefined,
  activeFileBytes: undefined,
  inactiveFileBytes: undefined,
  mappedFileBytes: undefined,
  kernelBytes: undefined,
  limitBytes: undefined,
  swapLimitBytes: undefined,
  highestUsageBytes: undefined,
  limitHits: undefined,
  oomKills: undefined,
};

async function readNumbers(pid: number): Promise<ProcessNumbers | undefined> {
  try {
    const [stat, status] = await Promise.all([
      readFile(`/proc/${pid}/stat`, 'latin1'),
      readFile(`/proc/${pid}/status`, 'latin1'),
    ]);
    const line = splitStatLine(stat);
    const field = (number: number): bigint => BigInt(line?.field(number) ?? '0');
    const bytes = (name: string): bigint => BigInt(findBytes(status, name) ?? 0);
    return {
      pageFaults: field(10) + field(11),
      majorPageFaults: field(12) + field(13),
      userTicks: field(14) + field(16),
      systemTicks: field(15) + field(17),
      threads: field(20),
      rssBytes: bytes('VmRSS'),
      anonBytes: bytes('RssAnon'),
      swapBytes: bytes('VmSwap'),
    };
  } catch {
    return undefined;
  }
}

/** The open files of processes. */
export interface OpenFiles {
  readonly files: bigint;
  readonly sockets: bigint;
}

/**
 * How many open files are read between two turns of the event loop: the kernel takes about 5 µs for each, a
 * tenth of the cost of a promise.
 */
const FILES_PER_SLICE = 128;

/**
 * Counts the open files of these processes, and the sockets among them.
 *
 * @param isOver checked from time to time for the end of the allowed time; the result is undefined then.
 * @param isStill checked at the end whether a pid still refers to the same process; others count as nothing.
 */
export async function countOpenFiles(
  pids: readonly number[],
  isOver: () => boolean,
  isStill: (pid: number) => boolean = () => true,
): Promise<OpenFiles | undefined> {
  const slices = new SliceYielder({ itemsPerSlice: FILES_PER_SLICE });
  const counts: { readonly pid: number; readonly files: number; readonly sockets: number }[] = [];
  for (const pid of pids) {
    if (isOver()) return undefined;
    const names = orIfGone(() => readdirSync(`/proc/${pid}/fd`), []);
    let sockets = 0;
    for (const name of names) {
      if (orIfGone(() => readlinkSync(`/proc/${pid}/fd/${name}`), '').startsWith('socket:')) sockets++;
      if (!slices.isFull()) continue;
      await slices.nextSlice();
      if (isOver()) return undefined;
    }
    counts.push({ pid, files: names.length, sockets });
  }
  let [files, sockets] = [0, 0];
  for (const count of counts.filter(({ pid }) => isStill(pid))) {
    files += count.files;
    sockets += count.sockets;
  }
  return { files: BigInt(files), sockets: BigInt(sockets) };
}

/** The soft limit of open files of a process; undefined if there is none, or the process is gone. */
export function findOpenFileLimit(pid: number): bigint | undefined {
  const limits = orIfGone(() => readFileSync(`/proc/${pid}/limits`, 'utf8'), '');
  const limit = findSoftLimit(limits, 'Max open files') ?? Infinity;
  return limit === Infinity ? undefined : BigInt(limit);
}

function orIfGone<T>(read: () => T, gone: T): T {
  try {
    return read();
  } catch {
    return gone;
  }
}
