import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SystemClock } from '#base/time/clock.js';
import { aNode } from '#support/builders/node-facts-builder.js';
import { diagnose } from '../diagnose.js';
import { parseKernelRecord } from '#base/proc/kernel-log/kernel-records.js';
import { HostFiles } from '../facts/host-files.js';
import { type Finding } from '../finding.js';
import { ask, known } from '../looked.js';
import { type KernelTroubleKind, readKernelLog, summarizeKernelLog } from './kernel-log.js';

const UPTIME_MS = 10_000_000;
/** A record as the kernel gives it, from so long ago. */
const record = (text: string, agoMs = 5_000, seq = 1): string =>
  `4,${seq},${(UPTIME_MS - agoMs) * 1_000},-;${text}\n`;
const summarize = (...records: readonly string[]) => summarizeKernelLog(records, UPTIME_MS);
const diagnoseLog = (...records: readonly string[]): Finding[] =>
  diagnose(aNode({ machine: { kernelLog: known(summarize(...records)) } }));

let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'podloop-kmsg-'));
});

afterEach(async () => {
  await rm(root, { recursive: true, force: true });
});

const filesOf = (at: string) =>
  new HostFiles({ root: at, clock: new SystemClock(), signal: new AbortController().signal });

/** Lines as kernels from 4.19 to 6.12 write them. */
const LINES: readonly [KernelTroubleKind, string, string][] = [
  ['hungTask', 'INFO: task runc:[2:INIT]:4321 blocked for more than 122 seconds.', 'runc:[2:INIT]:4321'],
  ['hungTask', 'INFO: task kworker/u8:2:77 blocked for more than 245 seconds.', 'kworker/u8:2:77'],
  ['lockup', 'watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [kworker/3:1:1234]', '3'],
  ['lockup', 'NMI watchdog: Watchdog detected hard LOCKUP on cpu 5', '5'],
  ['lockup', 'rcu: INFO: rcu_sched self-detected stall on CPU', ''],
  ['outOfMemory', 'Out of memory: Killed process 812 (java) total-vm:9kB, anon-rss:8kB', '812 (java)'],
  [
    'outOfMemory',
    'Memory cgroup out of memory: Killed process 77 (containerd) total-vm:9kB',
    '77 (containerd)',
  ],
  ['readOnly', 'EXT4-fs (sda1): Remounting filesystem read-only', 'sda1'],
  ['readOnly', 'XFS (dm-0): Log I/O error (0x6) detected. Shutting down filesystem.', 'dm-0'],
  ['readOnly', 'XFS (nvme0n1p1): Filesystem has been shut down due to log error (0x2).', 'nvme0n1p1'],
  ['readOnly', 'BTRFS info (device sdb state EA): forced readonly', 'sdb'],
  ['fileSystemError', 'EXT4-fs error (device vda1): ext4_lookup:1855: inode #2: comm ls: bad entry', 'vda1'],
  ['fileSystemError', 'XFS (sdc): Corruption of in-memory data (0x8) detected at xfs_defer', 'sdc'],
  ['diskError', 'blk_update_request: I/O error, dev sdb, sector 2048 op 0x0:(READ) flags 0x0', 'sdb'],
  ['diskError', 'I/O error, dev nvme0n1, sector 99 op 0x1:(WRITE) flags 0x800', 'nvme0n1'],
  ['diskError', 'Buffer I/O error on dev dm-2, logical block 0, async page read', 'dm-2'],
  ['diskError', 'critical medium error, dev sda, sector 12 op 0x0:(READ)', 'sda'],
  ['diskError', 'nvme nvme0: I/O 12 QID 3 timeout, aborting', 'nvme0'],
  ['networkDevice', 'unregister_netdevice: waiting for eth0 to become free. Usage count = 1', 'eth0'],
  ['connectionTable', 'nf_conntrack: nf_conntrack: table full, dropping packet', ''],
  ['silentServer', 'nfs: server 10.0.0.9 not responding, still trying', '10.0.0.9'],
  ['silentServer', 'CIFS: VFS: \\\\files has not responded in 180 seconds. Reconnecting...', '\\\\files'],
  ['silentServer', 'libceph: mon0 (1)10.0.0.7:6789 session lost, hunting for new mon', '(1)10.0.0.7:6789'],
  [
    'pidLimit',
    'cgroup: fork rejected by pids controller in /kubepods/burstable/pod1',
    '/kubepods/burstable/pod1',
  ],
];

describe('the kernel’s log', () => {
  it.each(LINES)('has a line of kind %s: %s', (kind, text, name) => {
    const { troubles } = summarize(record(text));
    expect(troubles).toMatchObject([
      { kind, count: 1, agoMs: 5_000, lines: [text], names: name === '' ? [] : [name] },
    ]);
  });

  it.each([
    'podloop0: port 1(veth1) entered disabled state',
    'EXT4-fs (sda1): mounted filesystem with ordered data mode. Quota mode: none.',
    'XFS (dm-0): Mounting V5 Filesystem',
    'nfs: server 10.0.0.9 OK',
    'IPv6: ADDRCONF(NETDEV_CHANGE): veth1: link becomes ready',
    'systemd[1]: task runc blocked for more than 122 seconds',
    'audit: type=1400 apparmor="DENIED" operation="open"',
  ])('has lines that are no complaint: %s', (text) => {
    expect(summarize(record(text)).troubles).toEqual([]);
  });

  it('counts what comes again, with the newest lines and names', () => {
    const lines = ['sda', 'sdb', 'sda'].map((dev, at) =>
      record(`I/O error, dev ${dev}, sector ${at} op`, 9_000 - at),
    );
    expect(summarize(...lines).troubles).toMatchObject([{ count: 3, agoMs: 8_998, names: ['sda', 'sdb'] }]);
    const many = Array.from({ length: 50 }, (_, at) => record(`I/O error, dev sd${at}, sector 1`));
    expect(summarize(...many).troubles[0]).toMatchObject({
      count: 50,
      lines: { length: 5 },
      names: { length: 5 },
    });
  });

  it('is read record by record, without the keys behind a line', () => {
    expect(
      parseKernelRecord('6,1234,5678000,-;usb 1-1: new device\n SUBSYSTEM=usb\n DEVICE=c189:1\n'),
    ).toEqual({
      ...{ atMs: 5_678, text: 'usb 1-1: new device' },
    });
    expect(parseKernelRecord('4,1,2000,c,caller=T12;a;b\n')?.text).toBe('a;b');
    expect(parseKernelRecord('no record')).toBeUndefined();
  });

  it('is not known where it is not there', async () => {
    await expect(readKernelLog(filesOf(root))).rejects.toThrow('ENOENT');
  });

  it('is read to its end where it is there', async () => {
    await mkdir(join(root, 'dev'));
    await mkdir(join(root, 'proc'));
    await writeFile(join(root, 'proc/uptime'), `${UPTIME_MS / 1_000}.00 1.00\n`);
    // A file gives all of it in one read; the device itself gives each record alone.
    await writeFile(join(root, 'dev/kmsg'), record('EXT4-fs (sda1): Remounting filesystem read-only'));
    expect(await readKernelLog(filesOf(root))).toMatchObject({
      records: 1,
      troubles: [{ kind: 'readOnly' }],
    });
  });

  it('of this machine is read without waiting for more', async (context) => {
    const log = await ask(() => readKernelLog(filesOf('/')));
    // Without the right to read it that is what it says.
    if (!log.known) return context.skip(`this user may not read the kernel’s log: ${log.why}`);
    expect(log.value.records).toBeGreaterThan(0);
    return undefined;
  });
});

describe('what the kernel complains about', () => {
  it.each<[KernelTroubleKind, string, string]>([
    ['lockup', 'KernelLockup', 'critical'],
    ['hungTask', 'KernelTasksHung', 'warning'],
    ['networkDevice', 'KernelTrouble', 'warning'],
    ['connectionTable', 'KernelTrouble', 'warning'],
    ['silentServer', 'KernelTrouble', 'warning'],
    ['readOnly', 'DiskErrors', 'critical'],
    ['fileSystemError', 'DiskErrors', 'critical'],
    ['diskError', 'DiskErrors', 'warning'],
  ])('is a finding while it is of late: %s', (kind, code, severity) => {
    for (const [, text] of LINES.filter(([of]) => of === kind)) {
      const [finding, ...others] = diagnoseLog(record(text));
      expect(others).toEqual([]);
      expect(finding).toMatchObject({ code, severity, sinceMs: aNode().atMs - 5_000 });
      expect(finding!.evidence).toContain(`kernel: ${text}`);
      expect(diagnoseLog(record(text, 4_000_000))).toEqual([]);
    }
  });

  it('is over where it has not been said again, or its server answers again', () => {
    const textOf = (kind: KernelTroubleKind): string => LINES.find(([of]) => of === kind)![1];
    expect(diagnoseLog(record(textOf('lockup'), 200_000))).toMatchObject([{ severity: 'warning' }]);
    expect(diagnoseLog(record(textOf('networkDevice'), 200_000))).toEqual([]);
    const silent = record('nfs: server 10.0.0.9 not responding, still trying', 60_000);
    const other = record('nfs: server 10.0.0.8 not responding, still trying', 50_000);
    const again = record('nfs: server 10.0.0.9 OK', 40_000);
    expect(diagnoseLog(silent, again)).toEqual([]);
    const [finding, ...others] = diagnoseLog(silent, other, again);
    expect([finding?.message, others]).toEqual([expect.stringContaining('respond: 10.0.0.8 (50s'), []]);
    expect(diagnoseLog(again, silent)).toMatchObject([{ code: 'KernelTrouble' }]);
  });

  it('is one finding for a disk whose errors made it read-only', () => {
    const texts = LINES.filter(([kind]) => ['diskError', 'fileSystemError', 'readOnly'].includes(kind)).map(
      ([, text]) => text,
    );
    expect(diagnoseLog(...texts.map((text) => record(text)))).toMatchObject([
      { code: 'DiskErrors', severity: 'critical' },
    ]);
  });

  it('is nothing for a drive without a disk, or a limit of a pod’s own', () => {
    expect(diagnoseLog(record('I/O error, dev sr0, sector 0 op 0x0:(READ)'))).toEqual([]);
    expect(diagnoseLog(record('cgroup: fork rejected by pids controller in /kubepods/pod1'))).toEqual([]);
  });

  const kill = (command: string, cgroup?: string, group = '/a'): string[] => [
    record(
      `oom-kill:constraint=${cgroup === undefined ? 'CONSTRAINT_NONE' : 'CONSTRAINT_MEMCG'},nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=${cgroup ?? '/'},task_memcg=${group},task=${command},pid=77,uid=0`,
    ),
    record(
      `${cgroup === undefined ? 'Out of memory' : 'Memory cgroup out of memory'}: Killed process 77 (${command}) total-vm:9kB`,
    ),
  ];

  it.each<[string, string | undefined]>([
    ['containerd', '/system.slice/containerd.service'],
    ['kubelet', '/system.slice/kubelet.service'],
    ['containerd-shim', '/kubepods/pod1'],
    ['java', undefined],
    ['kubelet', undefined],
  ])('names who was killed for want of memory: %s at %s', (command, cgroup) => {
    const findings = diagnoseLog(...kill(command, cgroup));
    expect(findings).toMatchObject([
      { code: 'OutOfMemory', severity: 'warning', process: { pid: 77, command } },
    ]);
    expect(findings[0]!.message).toContain(cgroup ?? 'the machine had none left');
  });

  it.each([
    ['containerd', '/system.slice/k3s.service', 'systemctl set-property k3s MemoryMax'],
    ['kubelet', '/lean', 'systemctl set-property kubelet MemoryMax'],
    ['dockerd', '/lean', 'systemctl set-property docker MemoryMax'],
    ['containerd-shim', '/kubepods/pod1', 'Raise the pod’s limits of memory'],
    ['containerd-shim', '/system.slice/containerd.service', 'systemctl set-property containerd MemoryMax'],
  ])('says what to raise for %s at %s', (command, cgroup, words) => {
    expect(diagnoseLog(...kill(command, cgroup))[0]!.remedy).toContain(words);
  });

  it('is not a container that was killed at its own limit', () => {
    expect(diagnoseLog(...kill('java', '/kubepods/burstable/pod1/abc'))).toEqual([]);
    // A Docker that runs in a pod.
    const pod = '/kubepods/burstable/pod0b6c2c4a-5a3e-4f0e-8a55-3f2f0c1d9e7b';
    expect(diagnoseLog(...kill('dockerd', pod, `${pod}/${'d'.repeat(64)}`))).toEqual([]);
    expect(diagnoseLog(...kill('containerd-shim', pod, pod))).toMatchObject([{ code: 'OutOfMemory' }]);
  });

  it('is not the machine where the log has lost whose limit was reached', () => {
    expect(diagnoseLog(...kill('tail', '/kubepods/pod1').slice(1))).toEqual([]);
    const [finding] = diagnoseLog(...kill('kubelet', '/lean').slice(1));
    expect(finding).toMatchObject({ code: 'OutOfMemory', process: { pid: 77 } });
    expect(finding!.message).toContain('a cgroup was at its limit');
    expect(finding!.remedy).toContain('systemctl set-property kubelet MemoryMax');
    const aDaemon = (pid: number, command: string) => ({ pid, command, state: 'S', waitsIn: '', forMs: 1 });
    const daemons = known({ runtime: aDaemon(40, 'containerd'), kubelet: aDaemon(41, 'kubelet') });
    const kernelLog = known(summarize(...kill('dockerd', '/kubepods/pod1').slice(1)));
    expect(diagnose(aNode({ machine: { kernelLog, daemons } }))).toEqual([]);
  });

  it('is not another program of the name of one that has run since before', () => {
    const kernelLog = known(summarize(...kill('containerd', '/system.slice/other.service')));
    const diagnoseAged = (forMs: number): Finding[] => {
      const runtime = { pid: 40, command: 'containerd', state: 'S', waitsIn: '', forMs };
      return diagnose(aNode({ machine: { kernelLog, daemons: known({ runtime }) } }));
    };
    expect(diagnoseAged(60_000)).toEqual([]);
    expect(diagnoseAged(2_000)).toMatchObject([{ code: 'OutOfMemory' }]);
  });

  it('explains a runtime that does not run', () => {
    const connection = {
      ...{ connected: false, attempts: 9, failures: 9, watchedMs: 3_000 },
      ...{ lastError: 'connection refused', lastCode: 'ENDPOINT_REFUSED' },
    };
    const diagnoseDown = (...records: readonly string[]): Finding[] =>
      diagnose(aNode({ runtime: { connection }, machine: { kernelLog: known(summarize(...records)) } }));
    // Somebody else was killed: that does not explain it.
    expect(diagnoseDown(...kill('java'))).toHaveLength(2);
    const findings = diagnoseDown(...kill('containerd', '/system.slice/containerd.service'));
    expect(findings).toMatchObject([{ code: 'OutOfMemory', severity: 'critical' }]);
    expect(findings[0]!.follows).toHaveLength(1);
  });
});
