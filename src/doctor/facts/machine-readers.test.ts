import { mkdir, mkdtemp, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { SystemClock } from '#base/time/clock.js';
import { judgeAbandoned, judgeShims, parseShim, readShims, type Shim } from './find-shims.js';
import { HostFiles } from './host-files.js';
import { measureDisks, measureFsync } from './measure-disks.js';
import { ProcessOwners } from '../host/process-owners.js';
import { findStillBlocked, readBlocked } from './blocked-threads.js';
import { findPlugins, parsePlugin } from './find-plugins.js';
import { parseProcess, readProcesses } from './process-table.js';
import { summarizeProcesses } from '../summarize-processes.js';
import { readLoad, readMemory } from './read-load.js';
import { findPressure, readPressure } from './read-pressure.js';
import { findDeadAddresses, findSameSocket } from './shim-addresses.js';
import { type Looked } from '../looked.js';
import { type PressureFacts, type ShimFacts } from './machine-facts.js';

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

  it('is counted since an earlier reading, too, as averages follow slowly', async () => {
    const writeAll = async (someUs: number, fullUs: number): Promise<void> => {
      for (const name of ['cpu', 'io', 'memory'])
        await write(
          `proc/pressure/${name}`,
          ['some', 'full']
            .map(
              (line) =>
                `${line} avg10=0.00 avg60=0.00 avg300=0.00 total=${line === 'some' ? someUs : fullUs}\n`,
            )
            .join(''),
        );
    };
    const fake = new FakeClock();
    const timed = new HostFiles({ root, clock: fake, signal: new AbortController().signal });
    await writeAll(5_000_000, 1_000_000);
    const before = await findPressure(timed);
    await fake.advance(8_000);
    await writeAll(10_200_000, 1_001_000);
    expect(await readPressure(timed, before)).toMatchObject({
      value: { cpu: { someAvg10: 0, someNow: 65, fullNow: 0.01 } },
    });
    // Within the same moment nothing can be said.
    const { value } = (await readPressure(timed, await findPressure(timed))) as { value: PressureFacts };
    expect(value.cpu).not.toHaveProperty('someNow');
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
    const processes = await readProcesses(files);
    const blocked = await readBlocked(files, processes);
    expect(
      await summarizeProcesses(
        files,
        { before: processes, after: processes },
        blocked,
        new ProcessOwners(files, processes),
      ),
    ).toEqual({
      ...{ processes: 3, threads: 6, pidMax: 32_768, threadsMax: 0 },
      ...{ zombies: 1, zombieParents: [{ pid: 5, command: 'app', zombies: 1 }] },
      blocked: [{ pid: 7, command: 'umount', waitsIn: 'rpc_wait_bit_killable' }],
      blockedCount: 1,
    });
  });

  it('counts no zombie that its parent has yet to collect', async () => {
    await write('proc/5/stat', statLine(5, 'app'));
    await write('proc/6/stat', statLine(6, 'app', { parent: 5 }));
    const before = await readProcesses(files);
    await write('proc/6/stat', statLine(6, 'app', { state: 'Z', parent: 5 }));
    const after = await readProcesses(files);
    const zombies = async (first: typeof before): Promise<number> =>
      (await summarizeProcesses(files, { before: first, after }, [], new ProcessOwners(files, after)))
        .zombies;
    expect([await zombies(before), await zombies(after)]).toEqual([0, 1]);
  });

  it('takes a pid that was used again for another process, and one that goes on for no hang', async () => {
    const blocked = async (): Promise<number[]> => {
      const first = await readBlocked(files, await readProcesses(files));
      return (await findStillBlocked(files, first)).map(({ tid }) => tid);
    };
    await write('proc/7/stat', statLine(7, 'dd', { state: 'D' }));
    expect(await blocked()).toEqual([7]);
    await write('proc/7/cgroup', '0::/ice\n');
    await write('sys/fs/cgroup/ice/cgroup.events', 'populated 1\nfrozen 1\n');
    expect(await blocked()).toEqual([]);
    await rm(join(root, 'proc/7/cgroup'));
    const first = await readBlocked(files, await readProcesses(files));
    await write('proc/7/stat', statLine(7, 'dd', { state: 'D' }).replace(' 70 9 9', ' 71 9 9'));
    expect(await findStillBlocked(files, first)).toEqual([]);
    await write('proc/7/stat', statLine(7, 'dd'));
    expect(await findStillBlocked(files, first)).toEqual([]);
    expect(await blocked()).toEqual([]);
  });

  it('sees the thread of a runtime that hangs behind a first thread that does not', async () => {
    await write('proc/7/stat', statLine(7, 'containerd', { threads: 3 }));
    await write('proc/7/task/7/stat', statLine(7, 'containerd'));
    await write('proc/7/task/8/stat', statLine(8, 'containerd'));
    await write('proc/7/task/9/stat', statLine(9, 'containerd', { state: 'D' }));
    await write('proc/7/task/9/wchan', 'nfs_wait_on_request');
    const processes = await readProcesses(files);
    const blocked = await findStillBlocked(files, await readBlocked(files, processes));
    expect(
      await summarizeProcesses(
        files,
        { before: processes, after: processes },
        blocked,
        new ProcessOwners(files, processes),
      ),
    ).toMatchObject({
      blocked: [{ pid: 7, thread: 9, command: 'containerd', waitsIn: 'nfs_wait_on_request' }],
      blockedCount: 1,
    });
  });
});

describe('network plugins', () => {
  const ENVIRON = [
    ...['PATH=/bin', 'CNI_COMMAND=ADD', 'CNI_CONTAINERID=abc', 'SECRET=hunter2'],
    'CNI_ARGS=IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=web;K8S_POD_UID=uid-web',
    '',
  ].join('\0');

  it('say what they do and for which pod, and nothing else that they know', () => {
    expect(parsePlugin(ENVIRON)).toEqual({
      ...{ operation: 'ADD', sandboxId: 'abc' },
      pod: { uid: 'uid-web', namespace: 'default', name: 'web' },
    });
    expect(parsePlugin('CNI_COMMAND=DEL\0CNI_CONTAINERID=abc\0')).toEqual({
      ...{ operation: 'DEL', sandboxId: 'abc' },
    });
    expect(parsePlugin('PATH=/bin\0')).toBeUndefined();
  });

  it('are children of a runtime that run at both looks, with how long they have', async () => {
    await write('proc/uptime', '190.00 300.00\n');
    await write('proc/5/stat', statLine(5, 'containerd'));
    await write('proc/6/stat', statLine(6, 'bash'));
    for (const [pid, parent] of [
      [1_000, 5],
      [1_001, 6],
      [1_002, 5],
    ] as const) {
      await write(`proc/${pid}/stat`, statLine(pid, 'calico', { parent }));
      await write(`proc/${pid}/environ`, ENVIRON);
    }
    // Of a cluster in a container.
    await write('proc/1003/stat', statLine(1_003, 'calico', { parent: 5 }));
    await write('proc/1003/environ', ENVIRON);
    await write('proc/1003/status', 'NSpid:\t1003\t40\n');
    const after = await readProcesses(files);
    const before = after.filter(({ pid }) => pid !== 1_002);
    expect(await findPlugins(files, before, after)).toMatchObject({
      count: 1,
      running: [{ pid: 1_000, command: 'calico', operation: 'ADD', pod: { name: 'web' }, forMs: 90_000 }],
    });
  });
});

const SOCKET = '/run/containerd/containerd.sock';
const OWN = new Set([SOCKET]);
const AN_HOUR_MS = 3_600_000;
const factsOf = (looked: Looked<ShimFacts>): ShimFacts | undefined =>
  looked.known ? looked.value : undefined;
const aShim = (sandboxId: string, changes: Partial<Shim> = {}): Shim => ({
  ...{ pid: Number(sandboxId), command: 'containerd-shim', sandboxId, address: SOCKET, namespace: 'k8s.io' },
  startTicks: '0',
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

  it('are not those of a Docker or a cluster that runs in a container', async () => {
    const cmdline = `/usr/bin/containerd-shim-runc-v2\0-namespace\0k8s.io\0-id\0${'a'.repeat(64)}\0-address\0${SOCKET}\0`;
    for (const [pid, pids] of [
      [8, '8'],
      [9, '9\t71'],
    ] as const) {
      await write(`proc/${pid}/stat`, statLine(pid, 'containerd-shim'));
      await write(`proc/${pid}/cmdline`, cmdline);
      await write(`proc/${pid}/status`, `Name:\tcontainerd-shim\nNSpid:\t${pids}\nNSpgid:\t${pids}\n`);
    }
    expect(await readShims(files, await readProcesses(files))).toMatchObject([{ pid: 8 }]);
  });

  it('are orphans when no list ever had their pod, and only of that containerd and of CRI', () => {
    const list = { sandboxes: [aSandbox('1')], containers: [] };
    const shims = [
      aShim('1'),
      aShim('2'),
      aShim('3', { address: '/other.sock' }),
      aShim('4', { namespace: 'moby' }),
    ];
    const facts = factsOf(
      judgeShims(
        { before: shims, after: [...shims, aShim('5')] },
        { first: list, last: list },
        OWN,
        AN_HOUR_MS,
      ),
    );
    expect(facts).toMatchObject({ count: 3, orphanCount: 1, orphans: [{ pid: 2 }], goneCount: 0 });
  });

  it('are no orphans while they are young: their sandbox is listed once it runs', () => {
    const list = { sandboxes: [], containers: [] };
    for (const [ageMs, orphanCount] of [
      [3_000, 0],
      [75_000, 0],
      [299_000, 0],
      [301_000, 1],
    ] as const) {
      const shims = [aShim('1', { startTicks: String((AN_HOUR_MS - ageMs) / 10) })];
      const facts = judgeShims({ before: shims, after: shims }, { first: list, last: list }, OWN, AN_HOUR_MS);
      expect(factsOf(facts)).toMatchObject({ orphanCount });
    }
  });

  it('of a pod that just came or just went are nobody’s fault', () => {
    const [first, last] = [
      { sandboxes: [aSandbox('1'), aSandbox('2')], containers: [] },
      { sandboxes: [aSandbox('1'), aSandbox('3')], containers: [] },
    ];
    const shims = { before: [aShim('1'), aShim('2')], after: [aShim('1')] };
    expect(factsOf(judgeShims(shims, { first, last }, OWN, AN_HOUR_MS))).toMatchObject({
      orphanCount: 0,
      goneCount: 0,
    });
  });

  it('are gone where a pod is ready all the time without one, unless none can be seen at all', () => {
    const list = { sandboxes: [aSandbox('1'), aSandbox('2'), aSandbox('3', false)], containers: [] };
    const lists = { first: list, last: list };
    expect(
      factsOf(judgeShims({ before: [aShim('1')], after: [aShim('1')] }, lists, OWN, AN_HOUR_MS)),
    ).toMatchObject({
      ...{ goneCount: 1, gone: [{ sandboxId: '2', pod: { name: 'p2' } }] },
    });
    expect(factsOf(judgeShims({ before: [], after: [] }, lists, OWN, AN_HOUR_MS))).toMatchObject({
      ...{ count: 0, goneCount: 0 },
    });
  });

  it('of another containerd say nothing of the pods of this runtime', () => {
    const list = { sandboxes: [aSandbox('1')], containers: [] };
    const shims = { before: [aShim('1')], after: [aShim('1')] };
    expect(judgeShims(shims, { first: list, last: list }, new Set(), AN_HOUR_MS)).toEqual({
      ...{
        known: false,
        why: `the shims that run belong to ${SOCKET}, which is not the runtime that was asked`,
      },
    });
  });

  it('are a runtime’s however its socket is spelled', async () => {
    await using socket = await listen('run/containerd/containerd.sock');
    await mkdir(join(root, 'var'));
    await symlink('/run', join(root, 'var/run'));
    const spelled = [SOCKET, `unix://${SOCKET}`, '/var/run/containerd/containerd.sock'];
    const same = await findSameSocket(files, socket.path, new Set([...spelled, '/run/other.sock']));
    expect([...same]).toEqual(spelled);
    const gone = await findSameSocket(files, '/run/gone.sock', new Set(['unix:///run/gone.sock', SOCKET]));
    expect([...gone]).toEqual(['unix:///run/gone.sock']);
  });

  it('are abandoned when nobody listened for them at two looks', async () => {
    await using socket = await listen('run/live.sock');
    await (await listen('run/dead.sock', false))[Symbol.asyncDispose]();
    const shims = ['/run/live.sock', '/run/dead.sock', '/run/none.sock'].map((address, at) =>
      aShim(String(at), { address }),
    );
    expect(socket.path).toContain('live');
    const dead = await findDeadAddresses(files, new Set(shims.map(({ address }) => address)));
    expect([...dead]).toEqual(['/run/dead.sock', '/run/none.sock']);
    const back = new Set(['/run/dead.sock']);
    expect(judgeAbandoned(shims, [...shims, aShim('9')], { before: dead, after: back })).toEqual({
      count: 1,
      shims: [{ pid: 1, command: 'containerd-shim', sandboxId: '1' }],
      addresses: ['/run/dead.sock'],
    });
  });
});

/** A socket of the machine at which somebody listens; its file may stay behind. */
async function listen(path: string, removes = true): Promise<AsyncDisposable & { readonly path: string }> {
  const file = join(root, path);
  await mkdir(dirname(file), { recursive: true });
  const server = createServer();
  const bound = removes ? file : `${file}.bound`;
  await new Promise<void>((resolve) => server.listen(bound, resolve));
  // Node removes the name that it has bound, and no other one.
  if (!removes) await rename(bound, file);
  return {
    path: file,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

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

  it('that do not answer are not asked again while the last question hangs', async () => {
    const fake = new FakeClock();
    const asked: ((here: string) => void)[] = [];
    class DeadDisk extends HostFiles {
      override async locate(): Promise<string> {
        return new Promise((resolve) => asked.push(resolve));
      }
    }
    const silentPaths = new Map<string, number>();
    const signal = new AbortController().signal;
    const measure = async (): Promise<unknown> => {
      const disk = new DeadDisk({ root, clock: fake, signal, silentPaths });
      const measured = measureDisks(disk, [{ path: '/images', purpose: 'images' }]);
      await fake.advance(10_000);
      return (await measured).silentDisks.map(({ forMs }) => forMs);
    };
    // One question is about the mounts, which is another file.
    expect(await measure()).toEqual([5_000]);
    const before = asked.length;
    expect(await measure()).toEqual([expect.any(Number)]);
    expect(asked.length - before).toBe(0);
    for (const answer of asked) answer('/nowhere');
    // What follows an answer is read from the disk.
    await expect.poll(() => silentPaths.size).toBe(0);
  });

  it('are not blamed where files that hang hold every thread', async () => {
    const silentPaths = new Map(['/a', '/b', '/c', '/d'].map((path) => [path, 1]));
    const busy = new HostFiles({ root, clock, signal: new AbortController().signal, silentPaths });
    expect(await measureDisks(busy, [{ path: '/', purpose: 'the root' }])).toEqual({
      disks: [],
      silentDisks: [],
    });
    expect(await measureFsync(busy, '/', clock)).toMatchObject({ known: false });
    await expect(busy.list('/')).rejects.toThrow(
      '4 files do not answer, so no other is read; the first is /a',
    );
    silentPaths.delete('/a');
    expect(await busy.list('/')).toEqual([]);
  });

  it('are written to without leaving anything, and not known where that cannot be', async () => {
    await mkdir(join(root, 'images'));
    const fsync = await measureFsync(files, '/images', clock);
    expect(fsync).toMatchObject({ known: true, value: { path: '/images', writes: 5 } });
    expect(await readdir(join(root, 'images'))).toEqual([]);
    expect(await measureFsync(files, '/nowhere', clock)).toMatchObject({ known: false });
  });
});
