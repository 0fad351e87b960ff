import { constants, readSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { systemCodeOf } from '#base/errors/system-code.js';
import { type HostFiles } from '../facts/host-files.js';
import { readUptimeMs } from './process-state.js';

const DEVICE = '/dev/kmsg';
/** A record has at most 8 KiB; the kernel refuses a smaller buffer for a larger one. */
const RECORD_BYTES = 16 * 1024;
/** More than the largest ring has. */
const MAX_RECORDS = 100_000;
/** Records that are read without a pause: it takes a millisecond or two. */
const SLICE = 500;
/** Lines of one kind that are kept, the newest. */
const MAX_LINES = 5;

/** What the kernel complains about. */
export type KernelTroubleKind =
  | 'hungTask'
  | 'lockup'
  | 'outOfMemory'
  | 'diskError'
  | 'fileSystemError'
  | 'readOnly'
  | 'networkDevice'
  | 'connectionTable'
  | 'silentServer'
  | 'pidLimit';

/** Complaints of one kind. */
export interface KernelTrouble {
  readonly kind: KernelTroubleKind;
  readonly count: number;
  /** Of the newest, in milliseconds before the examination. */
  readonly agoMs: number;
  /** The newest lines, oldest first. */
  readonly lines: readonly string[];
  /** Whom they name, the newest first, without repeats: a disk, a device, a server, a process. */
  readonly names: readonly string[];
}

/** What the kernel's log says. */
export interface KernelLogFacts {
  readonly records: number;
  /** How far back it goes: the ring forgets the oldest. */
  readonly reachesMs: number;
  readonly troubles: readonly KernelTrouble[];
  /** Processes that were killed for want of memory, newest first. */
  readonly killed: readonly KilledProcess[];
}

/** A process that the kernel killed for want of memory. */
export interface KilledProcess {
  readonly pid: number;
  readonly command: string;
  readonly agoMs: number;
  /** The cgroup whose limit was reached; absent where the machine had none left. */
  readonly cgroup?: string;
}

/** A line of the log, and when it was written after the start of the machine. */
interface KernelRecord {
  readonly atMs: number;
  readonly text: string;
}

/** The words of each kind; the first group is whom it names. */
const PATTERNS: readonly (readonly [KernelTroubleKind, RegExp])[] = [
  ['hungTask', /^INFO: task (.+:\d+)(?: \S+)? blocked for more than \d+ seconds/],
  ['lockup', /(?:soft lockup|hard LOCKUP|Watchdog detected hard LOCKUP).*?(?:CPU ?#?(\d+)|on cpu (\d+))/i],
  ['lockup', /^rcu: INFO: \S+ (?:self-)?detected (?:expedited )?stalls? on CPU/],
  [
    'outOfMemory',
    /^(?:Memory cgroup out of memory|Out of memory(?: \(oom_kill_allocating_task\))?): Killed process (\d+ \(.*?\))/,
  ],
  ['readOnly', /^EXT4-fs \(([^)]+)\): Remounting filesystem read-only/],
  ['readOnly', /^BTRFS.*\(device (\S+?)(?: state \w+)?\).*forced readonly/],
  ['readOnly', /^XFS \(([^)]+)\): .*(?:shut ?down|Shutting down filesystem)/],
  ['fileSystemError', /^EXT4-fs error \(device ([^)]+)\)/],
  ['fileSystemError', /^XFS \(([^)]+)\): .*(?:[Cc]orrupt|metadata I\/O error)/],
  [
    'fileSystemError',
    /^BTRFS(?: error| critical| warning)? ?\(device (\S+?)(?: state \w+)?\): .*(?:corrupt|csum failed|checksum)/,
  ],
  ['diskError', /(?:I\/O error|critical (?:medium|target|space allocation) error),? dev (\S+?),/],
  ['diskError', /^Buffer I\/O error on dev(?:ice)? (\S+?),/],
  ['diskError', /^nvme (\S+): I\/O .*timeout/],
  ['networkDevice', /^unregister_netdevice: waiting for (\S+) to become free/],
  ['connectionTable', /^nf_conntrack: (?:nf_conntrack: )?table full, dropping packet/],
  [
    'silentServer',
    /^(?:nfs|lockd|ceph|CIFS|libceph).*?(?:server |mon\d+ )?(\S+) (?:not responding|session lost)/i,
  ],
  ['pidLimit', /^cgroup: fork rejected by pids controller in (\S+)/],
];

/**
 * Reads the kernel's log to its end, without waiting for more, and finds what it complains about.
 *
 * Rejects where it cannot be opened: that takes root or CAP_SYSLOG, and in a container the machine's /dev/kmsg.
 */
export async function readKernelLog(files: HostFiles): Promise<KernelLogFacts> {
  const path = await files.locate(DEVICE);
  const device = await files.within(open(path, constants.O_RDONLY | constants.O_NONBLOCK));
  try {
    return summarizeKernelLog(await readRecords(device.fd), await readUptimeMs(files));
  } finally {
    await device.close();
  }
}

/** Each read gives one record at once, and EAGAIN says that there is no more. */
async function readRecords(fd: number): Promise<string[]> {
  const buffer = Buffer.alloc(RECORD_BYTES);
  const records: string[] = [];
  for (let reads = 1; reads <= MAX_RECORDS; reads++) {
    if (reads % SLICE === 0) await nextTurn();
    try {
      const bytes = readSync(fd, buffer, 0, RECORD_BYTES, null);
      if (bytes === 0) break;
      records.push(buffer.toString('utf8', 0, bytes));
    } catch (error) {
      if (systemCodeOf(error) === 'EAGAIN') break;
      // The ring has gone on over the record that was next: those behind it can be read.
      if (systemCodeOf(error) !== 'EPIPE') throw error;
    }
  }
  return records;
}

/** Reads `6,1234,98765432,-;text` with lines of keys behind it; undefined for anything else. */
export function parseKernelRecord(record: string): KernelRecord | undefined {
  const found = /^\d+,\d+,(\d+),[^;]*;([^\n]*)/.exec(record);
  return found === null ? undefined : { atMs: Number(found[1]) / 1_000, text: found[2]! };
}

/** What the records complain about. Pure. */
export function summarizeKernelLog(records: readonly string[], uptimeMs: number): KernelLogFacts {
  const parsed = records.flatMap((record) => parseKernelRecord(record) ?? []);
  const byKind = new Map<KernelTroubleKind, { records: KernelRecord[]; names: string[] }>();
  const killed: KilledProcess[] = [];
  let constraint: { readonly pid: number; readonly cgroup: string } | undefined;
  const agoOf = ({ atMs }: KernelRecord): number => Math.max(0, uptimeMs - atMs);
  for (const record of parsed) {
    constraint = readConstraint(record.text) ?? constraint;
    const found = match(record.text);
    if (found === undefined) continue;
    const of = byKind.get(found.kind) ?? { records: [], names: [] };
    byKind.set(found.kind, of);
    of.records.push(record);
    if (found.name !== '') of.names = [found.name, ...of.names.filter((name) => name !== found.name)];
    const [, pid, command = ''] =
      /^(\d+) \((.*)\)$/.exec(found.kind === 'outOfMemory' ? found.name : '') ?? [];
    if (pid === undefined) continue;
    const cgroup = constraint?.pid === Number(pid) ? constraint.cgroup : undefined;
    killed.unshift({
      pid: Number(pid),
      command,
      agoMs: agoOf(record),
      ...(cgroup === undefined ? {} : { cgroup }),
    });
  }
  return {
    records: parsed.length,
    reachesMs: parsed[0] === undefined ? 0 : agoOf(parsed[0]),
    troubles: [...byKind].map(([kind, of]) => ({
      ...{ kind, count: of.records.length, agoMs: agoOf(of.records.at(-1)!) },
      lines: of.records.slice(-MAX_LINES).map(({ text }) => text),
      names: of.names.slice(0, MAX_LINES),
    })),
    killed: killed.slice(0, MAX_LINES),
  };
}

function match(text: string): { readonly kind: KernelTroubleKind; readonly name: string } | undefined {
  for (const [kind, pattern] of PATTERNS) {
    const found = pattern.exec(text);
    // Of two groups the one that has taken part.
    if (found !== null) return { kind, name: found[1] ?? found[2] ?? '' };
  }
  return undefined;
}

/** The line before a kill says whose limit was reached: `oom-kill:constraint=CONSTRAINT_MEMCG,…,oom_memcg=/x,…,pid=7,uid=0`. */
function readConstraint(text: string): { readonly pid: number; readonly cgroup: string } | undefined {
  const found = /^oom-kill:constraint=CONSTRAINT_MEMCG,.*\boom_memcg=([^,]*),.*\bpid=(\d+),/.exec(text);
  return found === null ? undefined : { cgroup: found[1]!, pid: Number(found[2]) };
}
