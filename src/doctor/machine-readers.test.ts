import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '../testing/fake-clock.js';
import { SystemClock } from '../util/clock.js';
import { judgeShims, parseShim, readShims, type Shim } from './find-shims.js';
import { HostFiles } from './host-files.js';
import { measureDisks, measureFsync } from './measure-disks.js';
import { findBlocked, parseProcess, readProcesses, summarizeProcesses } from './process-table.js';
import { readLoad, readMemory } from './read-load.js';
import { readPressure } from './read-pressure.js';

const clock = new SystemClock();
let root: string;
let files: HostFiles;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'podloop-doctor-'));
  files = new HostFiles({ root, clock, signal: new AbortController().signal });
});

afterEach(async () => {
  await rm(root, { recursive: true, force: true });
});

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), text);
}

/** A line of /proc/PID/stat. */
function statLine(pid: number, command: string, { state = 'S', parent = 1, threads = 1 } = {}): string {
  return `${pid} (${command}) ${state} ${parent} ${pid} ${pid} 0 -1 0 0 0 0 0 1 2 3 4 20 0 ${threads} 0 ${pid * 10} 9 9\n`;
}

describe('the pressure of a machine', () => {
  it('is read of each resource, also where the CPU has no line for full', async () => {
    await write('proc/pressure/cpu', 'some avg10=60.44 avg60=49.13 avg300=20.52 total=102919170\n');
    for (const name of ['io', 'memory'])
      await write(
        `proc/pressure/${name}`,
        'some avg10=1.00 avg60=2.00 avg300=3.00 total=4\nfull avg10=5.00 avg60=6.50 avg300=7.00 total=8\n',
      );
    const io = { someAvg10: 1, someAvg60: 2, fullAvg10: 5, fullAvg60: 6.5 };
    expect(await readPressure(files)).toEqual({
      known: true,
      value: { cpu: { someAvg10: 60.44, someAvg60: 49.13, fullAvg10: 0, fullAvg60: 0 }, io, memory: io },
    });
  });

  it('is not known where the kernel does not measure it', async () => {
    expect(await readPressure(files)).toMatchObject({
      known: false,
      why: expect.stringContaining('PSI') as unknown,
    });
  });
});

describe('load and memory', () => {
  it('are read from /proc, and not known without it', async () => {
    expect(await readLoad(files)).toMatchObject({ known: false });
    expect(await readMemory(files)).toMatchObject({ known: false });
    await write('proc/loadavg', '14.24 9.10 4.00 3/900 4242\n');
    await write('proc/stat', 'cpu  1 2\ncpu0 1 2\ncpu1 1 2\nintr 5\n');
    await write('proc/meminfo', 'MemTotal:  2048 kB\nMemFree: 1 kB\nMemAvailable:   1024 kB\n');
    expect(await readLoad(files)).toEqual({
      known: true,
      value: { cores: 2, average1: 14.24, average5: 9.1 },
    });
    expect(await readMemory(files)).toEqual({
      known: true,
      value: { totalBytes: 2 ** 21, availableBytes: 2 ** 20 },
    });
  });
});

describe('the table of processes', () => {
  it('has names with anything in them, and threads', () => {
    expect(parseProcess(statLine(7, 'a) b (c', { state: 'D', parent: 3, threads: 12 }))).toMatchObject({
      ...{ pid: 7, command: 'a) b (c', state: 'D', parent: 3, threads: 12, startTicks: '70' },
    });
    expect(parseProcess('7 (half')).toBeUndefined();
  });

  it('counts threads and zombies with their parents, and what hung at both looks', async () => {
    await write('proc/5/stat', statLine(5, 'app', { threads: 4 }));
    await write('proc/6/stat', statLine(6, 'app', { state: 'Z', parent: 5 }));
    await write('proc/7/stat', statLine(7, 'umount', { state: 'D' }));
    await write('proc/7/wchan', 'rpc_wait_bit_killable');
    await write('proc/self/stat', 'no process of its own');
    await write('proc/sys/kernel/pid_max', '32768\n');
    const first = await readProcesses(files);
    expect(await summarizeProcesses(files, first, await readProcesses(files))).toEqual({
      ...{ processes: 3, threads: 6, pidMax: 32_768, threadsMax: 0 },
      ...{ zombies: 1, zombieParents: [{ pid: 5, command: 'app', zombies: 1 }] },
      blocked: [{ pid: 7, command: 'umount', waitsIn: 'rpc_wait_bit_killable' }],
      blockedCount: 1,
    });
  });

  it('takes a pid that was used again for another process', () => {
    const process = { ...parseProcess(statLine(7, 'dd', { state: 'D' }))! };
    expect(findBlocked([process], [process])).toHaveLength(1);
    expect(findBlocked([process], [{ ...process, startTicks: '71' }])).toEqual([]);
    expect(findBlocked([{ ...process, state: 'S' }], [process])).toEqual([]);
  });
});

const SOCKET = '/run/containerd/containerd.sock';
const aShim = (sandboxId: string, changes: Partial<Shim> = {}): Shim => ({
  ...{ pid: Number(sandboxId), command: 'containerd-shim', sandboxId, address: SOCKET, namespace: 'k8s.io' },
  ...changes,
});
const aSandbox = (id: string, ready = true) => ({
  ...{
    id,
    ready,
    attempt: 0,
    createdAtMs: 0,
    pod: { uid: `uid-${id}`, namespace: 'default', name: `p${id}` },
  },
});

describe('shims', () => {
  it('are read from their command lines', async () => {
    const cmdline = `/usr/bin/containerd-shim-runc-v2\0-namespace\0k8s.io\0-id\0${'a'.repeat(64)}\0-address\0${SOCKET}\0`;
    expect(parseShim(cmdline)).toEqual({ sandboxId: 'a'.repeat(64), address: SOCKET, namespace: 'k8s.io' });
    expect(parseShim('containerd-shim-runc-v2\0-info\0')).toBeUndefined();
    await write('proc/9/stat', statLine(9, 'containerd-shim'));
    await write('proc/9/cmdline', cmdline);
    await write('proc/8/stat', statLine(8, 'bash'));
    expect(await readShims(files, await readProcesses(files))).toMatchObject([{ pid: 9, address: SOCKET }]);
  });

  it('are orphans when no list ever had their pod, and only of that containerd and of CRI', () => {
    const list = { sandboxes: [aSandbox('1')], containers: [] };
    const shims = [
      aShim('1'),
      aShim('2'),
      aShim('3', { address: '/other.sock' }),
      aShim('4', { namespace: 'moby' }),
    ];
    const facts = judgeShims(
      { before: shims, after: [...shims, aShim('5')] },
      { first: list, last: list },
      SOCKET,
    );
    expect(facts).toMatchObject({ count: 3, orphanCount: 1, orphans: [{ pid: 2 }], goneCount: 0 });
  });

  it('of a pod that just came or just went are nobody’s fault', () => {
    const [first, last] = [
      { sandboxes: [aSandbox('1'), aSandbox('2')], containers: [] },
      { sandboxes: [aSandbox('1'), aSandbox('3')], containers: [] },
    ];
    const shims = { before: [aShim('1'), aShim('2')], after: [aShim('1')] };
    expect(judgeShims(shims, { first, last }, SOCKET)).toMatchObject({ orphanCount: 0, goneCount: 0 });
  });

  it('are gone where a pod is ready all the time without one, unless none can be seen at all', () => {
    const list = { sandboxes: [aSandbox('1'), aSandbox('2'), aSandbox('3', false)], containers: [] };
    const lists = { first: list, last: list };
    expect(judgeShims({ before: [aShim('1')], after: [aShim('1')] }, lists, SOCKET)).toMatchObject({
      ...{ goneCount: 1, gone: [{ sandboxId: '2', pod: 'default/p2' }] },
    });
    expect(judgeShims({ before: [], after: [] }, lists, SOCKET)).toMatchObject({ count: 0, goneCount: 0 });
  });
});

describe('disks', () => {
  it('are measured once each, and what is not there is left out', async () => {
    await mkdir(join(root, 'images'));
    const { disks, silentDisks } = await measureDisks(files, [
      { path: '/images', purpose: 'images', holdsImages: true },
      { path: '/', purpose: 'the root' },
      { path: '/nowhere', purpose: 'nothing' },
    ]);
    expect(disks).toHaveLength(1);
    expect(disks[0]).toMatchObject({ path: '/images', holdsImages: true, isReadOnly: false });
    expect(silentDisks).toEqual([]);
    expect(disks[0]!.totalBytes).toBeGreaterThanOrEqual(disks[0]!.availableBytes);
  });

  it('that nothing can be written to are told apart, also below links and bind mounts', async () => {
    await mkdir(join(root, 'data/images'), { recursive: true });
    await symlink('/data/images', join(root, 'images'));
    const mounts = (data: string): string =>
      [
        '1 0 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw',
        `2 1 7:1 / /data ${data.replace('|', ' - squashfs /dev/loop1 ')}`,
        '',
      ].join('\n');
    const look = async (): Promise<unknown> =>
      (await measureDisks(files, [{ path: '/images', purpose: 'images' }])).disks.map(
        ({ isReadOnly }) => isReadOnly,
      );
    await write('proc/1/mountinfo', mounts('rw|rw'));
    expect(await look()).toEqual([false]);
    await write('proc/1/mountinfo', mounts('ro|rw'));
    expect(await look()).toEqual([true]);
    await write('proc/1/mountinfo', mounts('rw|ro,seclabel'));
    expect(await look()).toEqual([true]);
  });

  it('that do not answer are told of, and how far writes came', async () => {
    const fake = new FakeClock();
    class DeadDisk extends HostFiles {
      override locate(): Promise<string> {
        return new Promise(() => undefined);
      }
    }
    const dead = new DeadDisk({ root, clock: fake, signal: new AbortController().signal });
    const looked = measureDisks(dead, [{ path: '/images', purpose: 'images' }]);
    await fake.advance(10_000);
    expect(await looked).toEqual({
      ...{ disks: [], silentDisks: [{ path: '/images', purpose: 'images', forMs: 5_000 }] },
    });
    const written = measureFsync(dead, '/images', fake);
    await fake.advance(30_000);
    expect(await written).toEqual({
      ...{ known: true, value: { path: '/images', writes: 0, hungMs: 5_000, medianMs: 0, maxMs: 0 } },
    });
  });

  it('are written to without leaving anything, and not known where that cannot be', async () => {
    await mkdir(join(root, 'images'));
    const fsync = await measureFsync(files, '/images', clock);
    expect(fsync).toMatchObject({ known: true, value: { path: '/images', writes: 5 } });
    expect(await readdir(join(root, 'images'))).toEqual([]);
    expect(await measureFsync(files, '/nowhere', clock)).toMatchObject({ known: false });
  });
});
