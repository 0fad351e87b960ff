import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { aNode } from '#support/builders/node-facts-builder.js';
import { SystemClock } from '#base/time/clock.js';
import { FakeClock } from '#testing/fake-clock.js';
import { diagnose } from '../diagnose.js';
import { HostFiles } from '../facts/host-files.js';
import { readProcesses } from '../facts/process-table.js';
import { known } from '../looked.js';
import { askMounts, describeDeadMounts, parseServedMounts } from './dead-mounts.js';
import { type DeadMount } from './host-facts.js';
import { ProcessOwners } from './process-owners.js';

const ID = 'c'.repeat(64);
const WEB = { uid: 'uid-web', namespace: 'default', name: 'web' };
let root: string;
let files: HostFiles;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'podloop-doctor-'));
  files = new HostFiles({ root, clock: new SystemClock(), signal: new AbortController().signal });
});

afterEach(async () => {
  await rm(root, { recursive: true, force: true });
});

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), text);
}

const stat = (pid: number, command: string, parent: number, state = 'S'): string =>
  `${pid} (${command}) ${state} ${parent} ${pid} ${pid} 0 -1 0 0 0 0 0 1 2 3 4 20 0 1 0 ${pid * 10} 9 9\n`;
const mountLine = (device: string, path: string, type: string, source: string): string =>
  `36 35 ${device} / ${path} rw,noatime shared:1 - ${type} ${source} rw\n`;

/** A container of pod default/web: its shim 20, its first process 30, and a child of that, 31. */
async function addPod(): Promise<void> {
  await write('proc/20/stat', stat(20, 'containerd-shim', 1));
  await write('proc/30/stat', stat(30, 'sh', 20));
  await write('proc/31/stat', stat(31, 'ls', 30, 'D'));
  for (const pid of [30, 31]) await write(`proc/${pid}/cgroup`, `0::/kubepods/pod1/${ID}\n`);
  await symlink(`/tasks/${'s'.repeat(64)}`, join(root, 'proc/20/cwd'));
  const annotations = {
    'io.kubernetes.cri.sandbox-uid': 'uid-web',
    'io.kubernetes.cri.sandbox-namespace': 'default',
    'io.kubernetes.cri.sandbox-name': 'web',
    'io.kubernetes.cri.container-name': 'app',
  };
  await write(`tasks/${ID}/config.json`, JSON.stringify({ annotations }));
}

/** Files on a clock that stands still, and how many waits have begun that have limits of their own. */
function countLimits(): { slow: HostFiles; clock: FakeClock; limits: () => number } {
  const clock = new FakeClock();
  let count = 0;
  class Counted extends HostFiles {
    override async within<T>(operation: Promise<T>, limitMs?: number): Promise<T> {
      if (limitMs !== undefined) count++;
      return await super.within(operation, limitMs);
    }
  }
  const slow = new Counted({ root, clock, signal: new AbortController().signal });
  return { slow, clock, limits: () => count };
}

describe('mounts with a server', () => {
  it.each<[string, boolean]>([
    ...['fuse', 'fuse.sshfs', 'fuse.s3fs', 'nfs', 'nfs4', 'cifs', 'smb3', 'ceph', '9p', 'lustre'].map(
      (type): [string, boolean] => [type, true],
    ),
    ...['fusectl', 'ext4', 'overlay', 'tmpfs', 'nfsd', 'proc', 'cgroup2'].map((type): [string, boolean] => [
      type,
      false,
    ]),
  ])('are those of %s: %s', (type, isServed) => {
    expect(parseServedMounts(mountLine('0:50', '/data', type, 'srv:/x'))).toHaveLength(isServed ? 1 : 0);
  });

  it('are each asked once, however often they are mounted, by paths with blanks too', () => {
    const text =
      mountLine('0:50', '/a\\040b', 'nfs4', 'srv:/x') + mountLine('0:50', '/pods/1/b', 'nfs4', 'srv:/x');
    expect(parseServedMounts(text)).toEqual([
      { path: '/a b', fsType: 'nfs4', source: 'srv:/x', device: '0:50' },
    ]);
  });

  it('are well when they answer, and where they are not there', async () => {
    expect(await askMounts(files, [])).toEqual([]);
    await mkdir(join(root, 'data'));
    await write(
      'proc/1/mountinfo',
      mountLine('0:50', '/data', 'nfs4', 's') + mountLine('0:51', '/gone', 'ceph', 's'),
    );
    expect(await askMounts(files, [])).toEqual([]);
  });

  it('are not blamed where the process that asks them does not begin, or is ended', async () => {
    await mkdir(join(root, 'data'));
    await write('proc/1/mountinfo', mountLine('0:50', '/data', 'nfs4', 's'));
    const program = join(root, 'program');
    await writeFile(program, '#!/bin/sh\nexit 1\n', { mode: 0o755 });
    await expect(askMounts(files, [], program)).rejects.toThrow('did not begin');
    await writeFile(program, '#!/bin/sh\necho begin\nexit 1\n', { mode: 0o755 });
    await expect(askMounts(files, [], program)).rejects.toThrow('was ended');
    await writeFile(program, '#!/bin/sh\nexec sleep 1000\n', { mode: 0o755 });
    const { slow, clock, limits } = countLimits();
    const asked = expect(askMounts(slow, [], program)).rejects.toThrow('did not begin within 5000 ms');
    await expect.poll(limits).toBe(1);
    await clock.advance(5_000);
    await asked;
  });

  it.each([
    ['Transport endpoint is not connected', 'ENOTCONN'],
    ['Stale file handle (os error 116)', 'ESTALE'],
    ['Operation timed out', 'ETIMEDOUT'],
    ['Permission denied', undefined],
    ['No such file or directory', undefined],
  ])('are dead or not by their error: %s', async (words, code) => {
    await write('proc/1/mountinfo', mountLine('0:50', '/data', 'nfs4', 's'));
    const program = join(root, 'stat');
    await writeFile(program, `#!/bin/sh\necho begin\necho '0 ${words}'\necho '1 ok'\n`, { mode: 0o755 });
    const dead = code === undefined ? [] : [{ mount: { path: '/data' }, code }];
    expect(await askMounts(files, [], program)).toMatchObject(dead);
  });

  it('are silent where the process that asks has begun and does not say how they are', async () => {
    await mkdir(join(root, 'data'));
    await write('proc/1/mountinfo', mountLine('0:50', '/data', 'nfs4', 's'));
    const program = join(root, 'program');
    const askSlowly = async (control: string) => {
      await writeFile(program, `#!/bin/sh\nprintf 'begin\\n${control}'\nexec sleep 1000\n`, { mode: 0o755 });
      const { slow, clock, limits } = countLimits();
      const asked = askMounts(slow, [], program);
      asked.catch(() => undefined);
      await expect.poll(limits).toBe(2);
      await clock.advance(5_000);
      return asked;
    };
    expect(await askSlowly('1 ok\\n')).toMatchObject([{ mount: { path: '/data' }, silentForMs: 5_000 }]);
    // The machine is so slow that nothing answers.
    await expect(askSlowly('')).rejects.toThrow('got no answer from /proc');
  });

  it('at which a process that asked before hangs in the kernel are silent since then, and are not asked again', async () => {
    await write('proc/uptime', '1000.00 900.00\n');
    await write(
      'proc/1/mountinfo',
      mountLine('0:50', '/data', 'nfs4', 's') + mountLine('0:51', '/b', 'nfs4', 's'),
    );
    await write('proc/self/cgroup', '0::/system.slice/podloop-observe.service\n');
    const asker = async (
      pid: number,
      device: string,
      startTicks: number,
      { state = 'D', pod = false } = {},
    ) => {
      const line = stat(pid, 'stat', 1, state).replace(` ${pid * 10} 9 9`, ` ${startTicks} 9 9`);
      await write(`proc/${pid}/stat`, line);
      await write(`proc/${pid}/cmdline`, ['stat', '-f', '-c', device, '--', '/data', ''].join('\0'));
      await write(
        `proc/${pid}/cgroup`,
        `0::/${pod ? 'kubepods/pod1' : 'system.slice/podloop-observe.service'}\n`,
      );
    };
    const asked = join(root, 'asked');
    const program = join(root, 'program');
    const answers = `echo "$@" > ${asked}; echo begin; echo '0 ok'; echo '1 ok'`;
    await writeFile(program, `#!/bin/sh\nshift 3\n${answers}\n`, { mode: 0o755 });
    // Two that hang; one that may yet answer, one that sleeps, one that a pod has made.
    await asker(50, '0:50', 90_000);
    await asker(51, '0:50', 95_000);
    await asker(52, '0:51', 99_900);
    await asker(53, '0:51', 90_000, { state: 'S' });
    await asker(54, '0:51', 90_000, { pod: true });
    const dead = await askMounts(files, await readProcesses(files), program);
    expect(dead).toMatchObject([{ mount: { path: '/data' }, silentForMs: 100_000 }]);
    expect(await readFile(asked, 'utf8')).toBe(`0:51 ${await files.locate('/b')} control /proc\n`);
  });

  it('are asked again once another file system is mounted in the place of one at which a question hangs', async () => {
    await write('proc/uptime', '1000.00 900.00\n');
    await write('proc/self/cgroup', '0::/x\n');
    await write('proc/50/stat', stat(50, 'stat', 1, 'D'));
    await write(
      'proc/50/cmdline',
      ['stat', '-f', '-c', '0:50', '--', await files.locate('/data'), ''].join('\0'),
    );
    await write('proc/50/cgroup', '0::/x\n');
    await mkdir(join(root, 'data'));
    await write('proc/1/mountinfo', mountLine('0:50', '/data', 'nfs4', 's'));
    const processes = await readProcesses(files);
    expect(await askMounts(files, processes)).toMatchObject([{ mount: { path: '/data' } }]);
    await write('proc/1/mountinfo', mountLine('0:66', '/data', 'nfs4', 's'));
    expect(await askMounts(files, processes)).toEqual([]);
  });

  it('that are dead are described with their pods and the process that serves them', async () => {
    await addPod();
    await write('proc/30/mountinfo', mountLine('0:50', '/data', 'fuse.x', 'srv'));
    await write('proc/40/stat', stat(40, 'sshfs', 1, 'T'));
    await mkdir(join(root, 'proc/40/fd'));
    await symlink('/dev/fuse', join(root, 'proc/40/fd/3'));
    await write('proc/41/stat', stat(41, 'other', 1));
    await mkdir(join(root, 'proc/41/fd'));
    await symlink('/dev/fuse', join(root, 'proc/41/fd/3'));
    await write('proc/41/fdinfo/3', 'pos:\t0\nfuse_connection:\t77\n');
    const processes = await readProcesses(files);
    const mount = { path: '/data', fsType: 'fuse.x', source: 'srv', device: '0:50' };
    const owners = new ProcessOwners(files, processes);
    expect(await describeDeadMounts(files, [{ mount, silentForMs: 5_000 }], processes, owners)).toEqual([
      {
        ...{ path: '/data', fsType: 'fuse.x', source: 'srv', silentForMs: 5_000, pods: [WEB] },
        servers: [{ pid: 40, command: 'sshfs', isStopped: true }],
      },
    ]);
  });
});

describe('the owner of a process', () => {
  it('is the container in its cgroup, for all that it started, and nobody for others', async () => {
    await addPod();
    await write('proc/50/stat', stat(50, 'bash', 1));
    const owners = new ProcessOwners(files, await readProcesses(files));
    for (const pid of [30, 31]) expect(await owners.find(pid)).toEqual({ pod: WEB, container: 'app' });
    for (const pid of [20, 50, 99]) expect(await owners.find(pid)).toEqual({});
  });
});

describe('the owner of a process in a container of a container', () => {
  it('is the pod in which that Docker runs', async () => {
    await addPod();
    await write('proc/40/stat', stat(40, 'containerd-shim', 30));
    await write('proc/41/stat', stat(41, 'job', 40, 'D'));
    await write('proc/40/cgroup', `0::/kubepods/pod1/${ID}\n`);
    await write('proc/41/cgroup', `0::/kubepods/pod1/${ID}/docker/${'d'.repeat(64)}\n`);
    await symlink(`/run/docker/${'d'.repeat(64)}`, join(root, 'proc/40/cwd'));
    const owners = new ProcessOwners(files, await readProcesses(files));
    for (const pid of [40, 41]) expect(await owners.find(pid)).toEqual({ pod: WEB, container: 'app' });
  });
});

describe('the owner of a process on CRI-O', () => {
  it('is the container in its cgroup, by the bundle in which its monitor works, also of an exec', async () => {
    await write('proc/10/stat', stat(10, 'crio', 1));
    await write('proc/20/stat', stat(20, 'conmon', 1));
    await write('proc/21/stat', stat(21, 'conmon', 10));
    await write('proc/30/stat', stat(30, 'sh', 20));
    await write('proc/31/stat', stat(31, 'ls', 21, 'D'));
    for (const pid of [30, 31]) await write(`proc/${pid}/cgroup`, `0::/kubepods.slice/crio-${ID}.scope\n`);
    await symlink(`/containers/${ID}/userdata`, join(root, 'proc/20/cwd'));
    await symlink('/', join(root, 'proc/21/cwd'));
    const annotations = {
      ...{ 'io.kubernetes.pod.uid': 'uid-web', 'io.kubernetes.pod.namespace': 'default' },
      ...{ 'io.kubernetes.pod.name': 'web', 'io.kubernetes.container.name': 'app' },
    };
    await write(`containers/${ID}/userdata/config.json`, JSON.stringify({ annotations }));
    const owners = new ProcessOwners(files, await readProcesses(files));
    for (const pid of [30, 31]) expect(await owners.find(pid)).toEqual({ pod: WEB, container: 'app' });
    expect(await owners.find(20)).toEqual({});
    expect(owners.listInits().map(({ pid }) => pid)).toEqual([30, 31]);
  });
});

describe('the finding of a dead mount', () => {
  const aMount = (changes: Partial<DeadMount> = {}): DeadMount => ({
    ...{ path: '/data', fsType: 'nfs4', source: 'files:/x', silentForMs: 5_000, pods: [WEB], servers: [] },
    ...changes,
  });
  const { silentForMs: _, ...answering } = aMount();

  it.each<[DeadMount, RegExp, RegExp]>([
    [
      aMount(),
      /\/data \(nfs4\) of default\/web does not answer/,
      /^See whether the server files is up .*umount -f \/data/,
    ],
    [
      aMount({ fsType: 'fuse.sshfs', servers: [{ pid: 4, command: 'sshfs', isStopped: true }] }),
      /does not answer/,
      /^Let its server go on: kill -CONT 4, which interrupts nothing/,
    ],
    [
      { ...answering, fsType: 'fuse', code: 'ENOTCONN' },
      /is gone: each call fails with ENOTCONN/,
      /^Its server has ended/,
    ],
    [aMount({ fsType: 'fuse' }), /does not answer/, /^See what its server does/],
  ])('names mount, pods and the way out: %o', (mount, message, remedy) => {
    const [finding, ...others] = diagnose(aNode({ machine: { deadMounts: known([mount]) } }));
    expect(others).toEqual([]);
    expect(finding).toMatchObject({ code: 'MountHangs', severity: 'critical', pod: WEB });
    expect(finding!.message).toMatch(message);
    expect(finding!.remedy).toMatch(remedy);
  });

  it('is the cause of the tasks of its pods that hang, and of no others', () => {
    const blocked = [{ pid: 31, command: 'ls', pod: WEB, container: 'app', waitsIn: 'request_wait_answer' }];
    const processes = aNode().machine.processes;
    if (!processes.known) throw new Error('a healthy node has processes');
    const withBlocked = (tasks: typeof blocked) =>
      diagnose(
        aNode({
          machine: {
            deadMounts: known([aMount()]),
            processes: known({ ...processes.value, blocked: tasks, blockedCount: tasks.length }),
          },
        }),
      );
    expect(withBlocked(blocked)).toMatchObject([{ code: 'MountHangs', follows: [{ code: 'TasksBlocked' }] }]);
    const db = { ...blocked[0]!, pod: { ...WEB, name: 'db' } };
    expect(withBlocked([...blocked, db]).map(({ code }) => code)).toEqual(['MountHangs', 'TasksBlocked']);
  });
});
