import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SystemClock } from '#base/time/clock.js';
import { HostFiles } from '../facts/host-files.js';
import { findStoppedDaemons } from '../find-stopped-daemons.js';
import { readProcesses } from '../facts/process-table.js';
import { type DaemonFacts } from './host-facts.js';
import { readDaemons, sinceFirst } from './read-daemons.js';

const SOCKET = '/run/containerd/containerd.sock';
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

async function addDaemon(pid: number, command: string, inode: number, cgroup: string): Promise<void> {
  await write(
    `proc/${pid}/stat`,
    `${pid} (${command}) S 1 ${pid} ${pid} 0 -1 0 0 0 0 0 1 2 3 4 20 0 9 0 ${pid * 10} 9 9\n`,
  );
  await write(
    `proc/${pid}/limits`,
    'Limit    Soft Limit  Hard Limit  Units\nMax open files    354    524288    files\n',
  );
  await write(`proc/${pid}/cgroup`, cgroup);
  await mkdir(join(root, `proc/${pid}/fd`));
  for (const [fd, target] of ['/dev/null', `socket:[${inode}]`, 'anon_inode:[eventpoll]'].entries())
    await symlink(target, join(root, `proc/${pid}/fd/${fd}`));
}

async function read(): Promise<DaemonFacts> {
  const processes = await readProcesses(files);
  return await readDaemons(files, processes, { socketPath: SOCKET, kubeletPort: 10_248 });
}

beforeEach(async () => {
  await write(
    'proc/1/net/unix',
    [
      'Num       RefCount Protocol Flags    Type St Inode Path',
      '0000: 00000002 00000000 00010000 0001 01 501 /run/other.sock',
      `0000: 00000003 00000000 00000000 0001 03 502 ${SOCKET}`,
      `0000: 00000002 00000000 00010000 0001 01 503 ${SOCKET}`,
    ].join('\n'),
  );
  await write(
    'proc/1/net/tcp',
    [
      '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode',
      '   0: 0100007F:2808 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 601 1 0 100',
    ].join('\n'),
  );
});

describe('the daemons of a node', () => {
  it('include a runtime that was started lately and listens nowhere yet', async () => {
    await write('proc/uptime', '100.00 1.00\n');
    await addDaemon(5, 'containerd', 501, '');
    await addDaemon(6, 'containerd', 999, '');
    // It listens elsewhere: another one.
    await addDaemon(7, 'containerd', 503, '');
    await write('proc/1/net/unix', '0000: 00000002 00000000 00010000 0001 01 503 /run/docker.sock\n');
    const { runtime, startingRuntime } = await read();
    expect(runtime).toBeUndefined();
    // Started at ticks 60, of a hundred a second, after 5.
    expect(startingRuntime).toMatchObject({ pid: 6, command: 'containerd', forMs: 99_400 });
    // In a container, where the sockets are others.
    await write('proc/6/status', 'NSpid:\t6\t1\n');
    expect((await read()).startingRuntime).toMatchObject({ pid: 5 });
  });

  it('are those that listen at the socket of the runtime and the port of the kubelet, and no others', async () => {
    await addDaemon(5, 'containerd', 501, '');
    await addDaemon(6, 'containerd', 503, '');
    await addDaemon(7, 'kubelet', 602, '');
    await addDaemon(8, 'kubelet', 601, '');
    const { runtime, kubelet, kubeletConfigured } = await read();
    expect(runtime).toMatchObject({ pid: 6, command: 'containerd', openFiles: { used: 3, limit: 354 } });
    expect(kubelet).toMatchObject({ pid: 8, command: 'kubelet' });
    expect(kubeletConfigured).toBeUndefined();
  });

  it('include systemd and the message bus of the system where these are stopped or frozen', async () => {
    const addProcess = async (pid: number, command: string, state: string, cgroup: string): Promise<void> => {
      await write(
        `proc/${pid}/stat`,
        `${pid} (${command}) ${state} 1 1 1 0 -1 0 0 0 0 0 1 2 3 4 20 0 9 0 1 9 9\n`,
      );
      await write(`proc/${pid}/cgroup`, cgroup);
    };
    await addProcess(1, 'systemd', 'S', '0::/init.scope\n');
    await addProcess(61, 'dbus-daemon', 'T', '0::/system.slice/dbus.service\n');
    // That of a user, and one that runs.
    await addProcess(
      62,
      'dbus-daemon',
      'T',
      '0::/user.slice/user-1000.slice/user@1000.service/session.slice/dbus.service\n',
    );
    await addProcess(63, 'dbus-broker', 'S', '0::/system.slice/dbus-broker.service\n');
    // That of a container that has a systemd of its own.
    await addProcess(64, 'dbus-daemon', 'T', '0::/lxc.payload.old/system.slice/dbus.service\n');
    await write('proc/64/status', 'NSpid:\t64\t20\n');
    await write('sys/fs/cgroup/init.scope/cgroup.events', 'populated 1\nfrozen 1\n');
    await write('sys/fs/cgroup/init.scope/cgroup.freeze', '1\n');
    expect((await read()).stoppedInit).toEqual([
      ...[{ pid: 1, command: 'systemd', state: 'S', waitsIn: '', frozenCgroup: '/sys/fs/cgroup/init.scope' }],
      { pid: 61, command: 'dbus-daemon', state: 'T', waitsIn: '' },
    ]);
    await write('sys/fs/cgroup/init.scope/cgroup.events', 'populated 1\nfrozen 0\n');
    await addProcess(61, 'dbus-daemon', 'S', '0::/system.slice/dbus.service\n');
    expect((await read()).stoppedInit).toBeUndefined();
  });

  it.each([
    [
      'v2',
      '0::/system.slice/containerd.service\n',
      {
        'sys/fs/cgroup/system.slice/containerd.service/pids.current': '93\n',
        'sys/fs/cgroup/system.slice/containerd.service/pids.max': '100\n',
        'sys/fs/cgroup/system.slice/containerd.service/memory.current': '1000\n',
        'sys/fs/cgroup/system.slice/containerd.service/memory.max': '2000\n',
        'sys/fs/cgroup/system.slice/containerd.service/cpu.stat':
          'usage_usec 9\nnr_periods 30\nnr_throttled 20\n',
      },
    ],
    [
      'v1',
      '8:pids:/c\n4:memory:/c\n2:cpu:/c\n0::/\n',
      {
        'sys/fs/cgroup/pids/c/pids.current': '93\n',
        'sys/fs/cgroup/pids/c/pids.max': '100\n',
        'sys/fs/cgroup/memory/c/memory.usage_in_bytes': '1000\n',
        'sys/fs/cgroup/memory/c/memory.limit_in_bytes': '2000\n',
        'sys/fs/cgroup/cpu/c/cpu.stat': 'nr_periods 30\nnr_throttled 20\nthrottled_time 9\n',
      },
    ],
  ] as const)('have the limits of their cgroups: %s', async (_, cgroup, contents) => {
    await addDaemon(6, 'containerd', 503, cgroup);
    for (const [path, text] of Object.entries(contents)) await write(path, text);
    expect((await read()).runtime).toMatchObject({
      ...{ tasks: { used: 93, limit: 100 }, memory: { used: 1_000, limit: 2_000 } },
      cpuPeriods: { used: 20, limit: 30 },
    });
  });

  it('have the limit that is nearest, of their cgroup or of one above it, without what is cached of files', async () => {
    const group = 'sys/fs/cgroup/system.slice';
    await addDaemon(6, 'containerd', 503, '0::/system.slice/k3s.service\n');
    await write(`${group}/k3s.service/memory.current`, '1900\n');
    await write(`${group}/k3s.service/memory.max`, '2000\n');
    await write(
      `${group}/k3s.service/memory.stat`,
      'anon 700\ninactive_file 900\nslab_reclaimable 200\nactive_file 100\n',
    );
    await write(`${group}/memory.current`, '2900\n');
    await write(`${group}/memory.max`, '3000\n');
    await write(`${group}/memory.stat`, 'anon 2000\ninactive_file 100\nactive_file 100\n');
    await write(`${group}/k3s.service/memory.events`, 'low 0\nmax 9\noom 1\noom_kill 1\n');
    await write(`${group}/k3s.service/pids.events`, 'max 4\n');
    const first = (await read()).runtime!;
    expect(first).toMatchObject({
      ...{ unit: 'k3s', memory: { used: 2_700, limit: 3_000, cgroup: '/system.slice' } },
      ...{ oomKills: 1, refusedTasks: 4 },
    });
    await write(`${group}/memory.max`, 'max\n');
    await write(`${group}/k3s.service/pids.events`, 'max 6\n');
    const second = sinceFirst(first, (await read()).runtime!);
    expect(second).toMatchObject({
      ...{ memory: { used: 700, limit: 2_000, cgroup: '/system.slice/k3s.service' } },
      ...{ oomKills: 0, refusedTasks: 2 },
    });
  });

  it('are those of k3s and microk8s, too, by where they listen', async () => {
    await addDaemon(7, 'k3s-server', 602, '');
    await addDaemon(8, 'kubelite', 601, '');
    expect((await read()).kubelet).toMatchObject({ pid: 8, command: 'kubelite' });
  });

  it('have none where the kernel says max, or a number near its largest', async () => {
    await addDaemon(6, 'containerd', 503, '8:pids:/c\n4:memory:/c\n');
    await write('sys/fs/cgroup/pids/c/pids.current', '93\n');
    await write('sys/fs/cgroup/pids/c/pids.max', 'max\n');
    await write('sys/fs/cgroup/memory/c/memory.usage_in_bytes', '1000\n');
    await write('sys/fs/cgroup/memory/c/memory.limit_in_bytes', '9223372036854771712\n');
    const { runtime } = await read();
    expect(runtime?.tasks).toBeUndefined();
    expect(runtime?.memory).toBeUndefined();
  });

  it('lack a kubelet where its files are and no process is', async () => {
    await write('etc/kubernetes/kubelet.conf', 'kind: Config\n');
    expect(await read()).toEqual({ kubeletConfigured: '/etc/kubernetes/kubelet.conf' });
    await addDaemon(8, 'kubelet', 601, '');
    expect((await read()).kubeletConfigured).toBeUndefined();
  });

  it('are named at once when they are stopped, without a call', async () => {
    await addDaemon(6, 'containerd', 503, '');
    const addresses = { socketPath: SOCKET, kubeletPort: 10_248 };
    expect(await findStoppedDaemons(files, addresses)).toEqual([]);
    const mounted = { ...addresses, socketPath: join(root, SOCKET) };
    await write('proc/6/stat', '6 (containerd) T 1 6 6 0 -1 0 0 0 0 0 1 2 3 4 20 0 9 0 60 9 9\n');
    expect(await findStoppedDaemons(files, addresses)).toMatchObject([
      { code: 'RuntimeStopped', process: { pid: 6, command: 'containerd' } },
    ]);
    expect(await findStoppedDaemons(files, mounted)).toHaveLength(1);
  });

  it('are judged by the CPU time of this examination alone', async () => {
    await addDaemon(6, 'containerd', 503, '0::/c\n');
    await write('sys/fs/cgroup/c/cpu.stat', 'nr_periods 1000\nnr_throttled 900\n');
    const first = (await read()).runtime!;
    await write('sys/fs/cgroup/c/cpu.stat', 'nr_periods 1030\nnr_throttled 901\n');
    const second = (await read()).runtime!;
    expect(sinceFirst(first, second).cpuPeriods).toEqual({ used: 1, limit: 30 });
    expect(sinceFirst(undefined, second).cpuPeriods).toBeUndefined();
  });
});
