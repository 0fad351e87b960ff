import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import {
  KERNEL_LOG_DEVICE,
  type KernelRecord,
  parseKernelRecord,
  readKernelRecords,
} from '#base/proc/kernel-log/kernel-records.js';
import { type OomKill, OomKillReader } from '#base/proc/kernel-log/oom-kills.js';
import { type HostFiles } from '../facts/host-files.js';
import { type ContainerOwner, type NamedProcess } from './host-facts.js';
import { readUptimeMs } from './process-state.js';

/** Maximum of lines of one kind to show, the newest. */
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
export interface KilledProcess extends NamedProcess, ContainerOwner {
  readonly agoMs: number;
  /** The cgroup that it was in; absent where an old kernel does not say. */
  readonly group?: string;
  /** The cgroup whose limit was reached; absent where the machine had none left, or the log has lost that line. */
  readonly cgroup?: string;
  /** Whether the machine had none left, and not a cgroup at its limit. */
  readonly isOfMachine: boolean;
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
    /^(?:nfs|lockd|ceph|CIFS|libceph).*?(?:server |mon\d+ )?(\S+) (?:not responding|has not responded in|session lost)/i,
  ],
  ['pidLimit', /^cgroup: fork rejected by pids controller in (\S+)/],
];

/** Of a server that is there again, which takes back that it was silent. */
const ANSWERS_AGAIN = /^(?:nfs|lockd|ceph|libceph).*?(\S+) (?:OK|session established)$/;

/**
 * Reads the kernel's log to its end, without waiting for more, and finds what it complains about.
 *
 * Rejects where it cannot be opened: that takes root or CAP_SYSLOG, and in a container the machine's /dev/kmsg.
 */
export async function readKernelLog(files: HostFiles): Promise<KernelLogFacts> {
  const path = await files.locate(KERNEL_LOG_DEVICE);
  const device = await files.within(open(path, constants.O_RDONLY | constants.O_NONBLOCK));
  try {
    return summarizeKernelLog(await readKernelRecords(device.fd), await readUptimeMs(files));
  } finally {
    await device.close();
  }
}

/** What the records complain about. Pure. */
export function summarizeKernelLog(records: readonly string[], uptimeMs: number): KernelLogFacts {
  const parsed = records.flatMap((record) => parseKernelRecord(record) ?? []);
  const byKind = new Map<
    KernelTroubleKind,
    { records: (KernelRecord & { readonly name: string })[]; names: string[] }
  >();
  const killed: KilledProcess[] = [];
  const kills = new OomKillReader();
  const agoOf = ({ atMs }: { readonly atMs: number }): number => Math.max(0, uptimeMs - atMs);
  const noteKill = (kill: OomKill | undefined): void => {
    if (kill === undefined) return;
    const { pid, command, limitedGroup: cgroup, group, isOfMachine } = kill;
    killed.unshift({
      ...{ pid, command, agoMs: agoOf(kill), isOfMachine },
      ...(cgroup === undefined ? {} : { cgroup }),
      ...(group === undefined ? {} : { group }),
    });
  };
  for (const record of parsed) {
    noteKill(kills.take(record));
    const again = ANSWERS_AGAIN.exec(record.text)?.[1];
    if (again !== undefined) {
      const silent = byKind.get('silentServer') ?? { records: [], names: [] };
      silent.records = silent.records.filter(({ name }) => name !== again);
      silent.names = silent.names.filter((name) => name !== again);
      if (silent.records.length === 0) byKind.delete('silentServer');
    }
    const found = match(record.text);
    if (found === undefined) continue;
    const of = byKind.get(found.kind) ?? { records: [], names: [] };
    byKind.set(found.kind, of);
    of.records.push({ ...record, name: found.name });
    if (found.name !== '') of.names = [found.name, ...of.names.filter((name) => name !== found.name)];
  }
  noteKill(kills.finish());
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
