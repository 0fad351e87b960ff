import { type Finding } from '../finding.js';
import { type DaemonFacts } from '../host/host-facts.js';
import {
  type KernelLogFacts,
  type KernelTrouble,
  type KernelTroubleKind,
  type KilledProcess,
} from '../host/kernel-log.js';
import { findPodUidOf } from '../host/process-state.js';
import { valueOf } from '../looked.js';
import { LIMITS } from './limits.js';
import { type Rule } from './rule.js';
import { describeOwner } from './shim-rules.js';
import { findUnit, unitOf } from '../units.js';
import { count, formatMs, nameSome } from './words.js';

/** Programs that the node, or with a shim or conmon one pod, cannot do without. */
const NEEDED = /^(containerd|crio|conmon|dockerd|cri-dockerd|kubelet|kubelite|k3s|podloop|systemd)/;
const OF_ONE_POD = /^(containerd-shim|conmon)/;
/** Devices without a medium, and images that are mounted: their errors are no disk's. */
const NO_DISK = /^(fd|sr|loop|nbd)\d/;

/** What the kernel has complained about of late. */
export const kernelRules: Rule = ({ machine, atMs }) => {
  const log = valueOf(machine.kernelLog);
  if (log === undefined) return [];
  return [...findLost(log, atMs), ...findHung(log, atMs), ...findKilled(log, atMs, valueOf(machine.daemons))];
};

/** Disks and file systems that lost something: one finding, as the one leads to the other. */
function findLost({ troubles }: KernelLogFacts, atMs: number): Finding[] {
  const kinds: readonly KernelTroubleKind[] = ['readOnly', 'fileSystemError', 'diskError'];
  const lost = kinds.flatMap((kind) =>
    troubles.filter(
      (each) =>
        each.kind === kind &&
        each.agoMs <= LIMITS.kernelLostRecentMs &&
        !(each.names.length > 0 && each.names.every((name) => NO_DISK.test(name))),
    ),
  );
  const [worst] = lost;
  if (worst === undefined) return [];
  const words = {
    readOnly: 'the kernel has made the file system read-only',
    fileSystemError: 'the file system has errors',
    diskError: 'the disk has errors',
  }[worst.kind as 'readOnly' | 'fileSystemError' | 'diskError'];
  return [
    {
      ...{ code: 'DiskErrors', severity: worst.kind === 'diskError' ? 'warning' : 'critical' },
      sinceMs: atMs - Math.max(...lost.map(({ agoMs }) => agoMs)),
      message: `${words}: ${nameSome(worst.names)} (${formatMs(worst.agoMs)} ago, by the kernel’s log)`,
      evidence: lost.flatMap(toEvidence),
      remedy: `See what lies on it (lsblk, findmnt) and what the disk says of itself (smartctl -a). Drain the node, which interrupts all its pods, then check it unmounted (fsck, xfs_repair) or replace it; to mount it again for writing before that may lose more.`,
    },
  ];
}

interface HungRow {
  readonly code: 'KernelLockup' | 'KernelTasksHung' | 'KernelTrouble';
  readonly severity: Finding['severity'];
  /** How bad it is once it has not been said again for a while; absent where it says so only once in a while. */
  readonly severityAfter?: Finding['severity'] | 'none';
  readonly words: string;
  readonly remedy: string;
}

const HUNG: Partial<Readonly<Record<KernelTroubleKind, HungRow>>> = {
  lockup: {
    ...{ code: 'KernelLockup', severity: 'critical', severityAfter: 'warning' },
    words: 'the kernel was stuck on a CPU',
    remedy:
      'Everything on that CPU waited. On a virtual machine its host is short of CPU time (see steal in top); else the lines below it name the driver (dmesg). Drain the node and restart the machine, which interrupts all its pods.',
  },
  hungTask: {
    ...{ code: 'KernelTasksHung', severity: 'warning', words: 'tasks hung in the kernel for minutes' },
    remedy:
      'The lines below each say what it waited in (dmesg): a disk, a server whose files are mounted, a lock of the kernel. See whether it still does: podloop doctor names tasks that hang now.',
  },
  networkDevice: {
    ...{ code: 'KernelTrouble', severity: 'warning', severityAfter: 'none' },
    words: 'the kernel cannot release a network device',
    remedy:
      'Whoever makes or removes a network namespace may wait for it, and so do sandboxes. It goes with a restart of the machine alone, which interrupts all its pods; a newer kernel may have the fault mended.',
  },
  connectionTable: {
    ...{
      code: 'KernelTrouble',
      severity: 'warning',
      words: 'the table of connections is full and packets are dropped',
    },
    remedy:
      'Raise it, which interrupts nothing: sysctl -w net.netfilter.nf_conntrack_max=N; and see who opens so many (conntrack -L).',
  },
  silentServer: {
    ...{ code: 'KernelTrouble', severity: 'warning', words: 'a file server does not respond' },
    remedy:
      'See that server and the network to it: whoever touches its files hangs. findmnt -t nfs,nfs4,cifs,ceph says which pods have it mounted.',
  },
};

function findHung({ troubles }: KernelLogFacts, atMs: number): Finding[] {
  return troubles.flatMap((trouble): Finding[] => {
    const row = HUNG[trouble.kind];
    if (row === undefined || trouble.agoMs > LIMITS.kernelHungRecentMs) return [];
    const { words, severityAfter, ...rest } = row;
    const isOver = severityAfter !== undefined && trouble.agoMs > LIMITS.kernelGoesOnMs;
    if (isOver && severityAfter === 'none') return [];
    const names = trouble.names.length === 0 ? '' : `: ${nameSome(trouble.names)}`;
    return [
      {
        ...rest,
        ...(isOver && { severity: severityAfter as Finding['severity'] }),
        sinceMs: atMs - trouble.agoMs,
        message: `${words}${names} (${formatMs(trouble.agoMs)} ago, by the kernel’s log)`,
        evidence: toEvidence(trouble),
      },
    ];
  });
}

/** Kills of what the node needs, and those for want of memory of the whole machine. */
function findKilled({ killed }: KernelLogFacts, atMs: number, daemons: DaemonFacts = {}): Finding[] {
  // Another program of that name was killed where the one of this node has run since before.
  const wasOther = ({ command, agoMs }: KilledProcess): boolean =>
    [daemons.runtime, daemons.kubelet].some((daemon) => daemon?.command === command && daemon.forMs > agoMs);
  // Docker or a cluster that runs in a pod, at the pod's own limit.
  const isOfPod = ({ command, group = '' }: KilledProcess): boolean =>
    findPodUidOf(group) !== undefined && !OF_ONE_POD.test(command);
  // The log has lost whose limit it was, and the node's own daemons have other names: it may be one of a pod.
  const isUnclear = ({ command, cgroup }: KilledProcess): boolean =>
    cgroup === undefined &&
    [daemons.runtime, daemons.kubelet].every((daemon) => daemon !== undefined && daemon.command !== command);
  const bad = killed.filter(
    (each) =>
      each.agoMs <= LIMITS.kernelLostRecentMs &&
      (each.isOfMachine ||
        (NEEDED.test(each.command) && !wasOther(each) && !isOfPod(each) && !isUnclear(each))),
  );
  const [last] = bad;
  if (last === undefined) return [];
  const { command, pid, agoMs } = last;
  return [
    {
      // Who was killed may run again; where it does not, that makes this critical.
      ...{ code: 'OutOfMemory', severity: 'warning' },
      ...{ process: { pid, command }, sinceMs: atMs - agoMs },
      ...(last.pod && { pod: last.pod }),
      ...(last.container !== undefined && { container: last.container }),
      message: `the kernel killed ${command} (pid ${pid})${ofOwner(last)} for want of memory ${formatMs(agoMs)} ago: ${whereNoneWasLeft(last)}`,
      evidence: bad.map(describeKill),
      remedy: remedyOf(last),
    },
  ];
}

/** The line that names the cgroup comes before that of the kill, and the log may have lost it. */
function whereNoneWasLeft({ isOfMachine, cgroup }: KilledProcess): string {
  if (isOfMachine) return 'the machine had none left';
  return cgroup === undefined ? 'a cgroup was at its limit' : `its cgroup ${cgroup} was at its limit`;
}

function remedyOf({ command, cgroup, isOfMachine }: KilledProcess): string {
  if (isOfMachine)
    return 'See who uses it (podloop top pods, ps --sort=-rss), give pods limits of memory, and reserve some for the system (--system-reserved, --kube-reserved).';
  const unit = cgroup === undefined ? undefined : findUnit(cgroup);
  const raise = `Raise the limit of its unit, which interrupts nothing (systemctl set-property ${unit ?? unitOf(command)} MemoryMax=infinity)`;
  if (!OF_ONE_POD.test(command))
    return `${raise}, and start it if it does not run. If it grows again, it leaks.`;
  const where =
    unit === undefined
      ? 'Raise the pod’s limits of memory: it counts there (containerd: shim_cgroup, CRI-O: monitor_cgroup).'
      : `${raise}: that of all shims counts there.`;
  return `The containers of its pod end with it, and the kubelet starts them again. ${where}`;
}

function ofOwner(owner: KilledProcess): string {
  return owner.pod === undefined ? '' : ` of ${describeOwner(owner)}`;
}

function describeKill(each: KilledProcess): string {
  const { pid, command, agoMs, cgroup } = each;
  return `pid ${pid} ${command}${ofOwner(each)}: killed ${formatMs(agoMs)} ago${cgroup === undefined ? '' : `, at the limit of ${cgroup}`}`;
}

function toEvidence({ count: number, lines, kind }: KernelTrouble): string[] {
  return [
    `${count(number, 'line')} of that kind in the kernel’s log (${kind})`,
    ...lines.map((line) => `kernel: ${line}`),
  ];
}
