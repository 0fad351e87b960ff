import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SystemClock } from '#base/time/clock.js';
import { FakeClock } from '#testing/fake-clock.js';
import { type Shim } from '../facts/find-shims.js';
import { HostFiles } from '../facts/host-files.js';
import { readProcesses } from '../facts/process-table.js';
import { askShim, stateRequest, parseShimSocket } from './ask-shim.js';
import { findCrioCallers, findOciCalls, parseOciCommand } from './oci-calls.js';
import { type IllShim } from './host-facts.js';
import { findCgroup, findFrozenCgroup } from './process-state.js';
import { parseBundle } from './read-bundle.js';
import { askShims, findIllShims, findShimFiles } from './shim-health.js';

const ID = 'a'.repeat(64);
const SANDBOX = 'b'.repeat(64);
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

async function addProcess(
  pid: number,
  command: string,
  { state = 'S', parent = 1, args = [] as readonly string[], wchan = '0', startTicks = pid * 10 } = {},
): Promise<void> {
  await write(
    `proc/${pid}/stat`,
    `${pid} (${command}) ${state} ${parent} ${pid} ${pid} 0 -1 0 0 0 0 0 1 2 3 4 20 0 1 0 ${startTicks} 9 9\n`,
  );
  await write(`proc/${pid}/cmdline`, args.map((word) => `${word}\0`).join(''));
  await write(`proc/${pid}/wchan`, wchan);
}

const bundle = (name: string, container?: string): string =>
  JSON.stringify({
    ociVersion: '1.1.0',
    annotations: {
      'io.kubernetes.cri.sandbox-uid': `uid-${name}`,
      'io.kubernetes.cri.sandbox-namespace': 'default',
      'io.kubernetes.cri.sandbox-name': name,
      ...(container === undefined ? {} : { 'io.kubernetes.cri.container-name': container }),
    },
  });
const RUNC = ['runc', '--root', '/run/runc/k8s.io', '--log', '/b/log.json', '--log-format', 'json'];
const SHIM: Shim = {
  ...{ pid: 20, command: 'containerd-shim', sandboxId: SANDBOX, address: '/c.sock', namespace: 'k8s.io' },
  startTicks: '200',
};

describe('calls of an OCI runtime', () => {
  it.each<[readonly string[], string | undefined]>([
    [[...RUNC, 'create', '--bundle', '/b', '--pid-file', '/b/init.pid', ID], 'create'],
    [
      [...RUNC, '--systemd-cgroup', 'exec', '--process', '/tmp/p', '--detach', '--pid-file', '/p', ID],
      'exec',
    ],
    [[...RUNC, 'kill', '--all', ID, '9'], 'kill'],
    [[...RUNC, 'delete', '--force', ID], 'delete'],
    [[...RUNC, 'update', '--resources', '-', ID], 'update'],
    [['/bin/sh', '/usr/local/bin/slow-runc', ...RUNC.slice(1), 'delete', ID], 'delete'],
    [['/usr/bin/crun', '--root', '/run/crun', '--log=/l', 'start', ID], 'start'],
    [['runc', '--version'], undefined],
    [['sh', '-c', `runc kill ${ID}`], undefined],
    [[...RUNC, 'list'], undefined],
    [['pod', 'create', '--root', '/x', '--log', '/y', ID], undefined],
  ])('are read from their command lines: %s', (words, operation) => {
    const command = parseOciCommand(words.map((word) => `${word}\0`).join(''));
    expect(command?.operation).toBe(operation);
    if (operation !== undefined) expect(command?.containerId).toBe(ID);
  });

  it('are those below the shims, with their pod and what they wait for', async () => {
    await addProcess(20, 'containerd-shim');
    await addProcess(30, 'runc', {
      parent: 20,
      args: [...RUNC, 'create', '--bundle', '/b', ID],
      wchan: 'do_wait',
    });
    await addProcess(31, 'runc', { parent: 30, args: ['runc', 'init'] });
    await addProcess(32, 'fetch', { parent: 31, state: 'D', wchan: 'request_wait_answer' });
    // That of somebody else.
    await addProcess(40, 'runc', { parent: 1, args: [...RUNC, 'create', '--bundle', '/b', ID] });
    await write('b/config.json', bundle('web', 'app'));
    expect(await findOciCalls(files, await readProcesses(files), [SHIM], 60_000)).toEqual([
      {
        ...{ pid: 30, command: 'runc', operation: 'create', containerId: ID, state: 'S', waitsIn: 'do_wait' },
        ...{ pod: { uid: 'uid-web', namespace: 'default', name: 'web' }, container: 'app', forMs: 57_000 },
        waitsFor: { pid: 32, command: 'fetch', state: 'D', waitsIn: 'request_wait_answer' },
      },
    ]);
  });

  it('are those below CRI-O and its monitors, which name no log, with their pods', async () => {
    const conmon = ['conmon', '-b', `/run/c/${ID}`, '-c', ID, '-n', 'k8s_app_web'];
    await addProcess(10, 'crio');
    await addProcess(20, 'conmon', { args: conmon });
    await symlink(`/run/c/${ID}`, join(root, 'proc/20/cwd'));
    await addProcess(21, 'conmon', {
      parent: 10,
      args: ['conmon', '-c', ID, '-e', '--exec-process-spec', '/p'],
    });
    const create = ['runc', '--systemd-cgroup', '--root=/run/runc', 'create', '--bundle', `/run/c/${ID}`, ID];
    await addProcess(30, 'runc', { parent: 20, args: create });
    await addProcess(31, 'runc', { parent: 10, args: ['runc', '--root', '/run/runc', 'kill', ID, '15'] });
    await addProcess(32, 'crun', {
      parent: 21,
      args: ['crun', '--root=/run/crun', 'exec', '--process', '/p', '--detach', ID],
    });
    // What runs in the container, and podman's.
    await addProcess(33, 'app', { parent: 20, args: ['app', '--root', '/x', 'list'] });
    const annotations = { 'io.kubernetes.pod.namespace': 'default', 'io.kubernetes.pod.name': 'web' };
    await write(`run/c/${ID}/config.json`, JSON.stringify({ annotations }));
    const scan = await readProcesses(files);
    const calls = await findOciCalls(files, scan, findCrioCallers(scan), 60_000);
    expect(
      calls.map(({ pid, operation, caller, pod }) => [pid, operation, caller, pod?.name]).sort(),
    ).toEqual([
      [30, 'create', 'its monitor (conmon)', 'web'],
      [31, 'kill', 'CRI-O', 'web'],
      [32, 'exec', 'its monitor (conmon)', 'web'],
    ]);
    expect(findCrioCallers(scan.filter(({ command }) => command !== 'crio'))).toEqual([]);
  });

  it('are frozen with the container that they have joined', async () => {
    await addProcess(20, 'containerd-shim');
    await addProcess(30, 'runc', { parent: 20, args: [...RUNC, 'exec', '--process', '/p', ID] });
    await addProcess(31, 'runc:[2:INIT]', { parent: 30, state: 'D' });
    await write('proc/31/cgroup', '6:freezer:/kubepods/pod1/app\n');
    await write('sys/fs/cgroup/freezer/kubepods/pod1/app/freezer.state', 'FROZEN\n');
    const find = async (uptimeMs: number) =>
      (await findOciCalls(files, await readProcesses(files), [SHIM], uptimeMs))[0];
    expect(await find(60_000)).toMatchObject({ frozenCgroup: '/sys/fs/cgroup/freezer/kubepods/pod1/app' });
    expect(await find(4_000)).not.toHaveProperty('frozenCgroup');
  });

  it('are none of what runs in a container, whose command line is not even read', async () => {
    await addProcess(20, 'containerd-shim');
    await write('proc/20/cgroup', '0::/system.slice/containerd.service\n');
    const nested = [...RUNC, 'exec', '--process', '/p', ID];
    await addProcess(30, 'dockerd', { parent: 20, args: nested });
    await addProcess(31, 'runc', { parent: 30, args: nested });
    for (const pid of [30, 31]) await write(`proc/${pid}/cgroup`, `0::/kubepods/pod1/${ID}\n`);
    const read: string[] = [];
    const find = files.find.bind(files);
    files.find = async (path) => {
      read.push(path);
      return await find(path);
    };
    expect(await findOciCalls(files, await readProcesses(files), [SHIM], 60_000)).toEqual([]);
    expect(read.filter((path) => path.endsWith('/cmdline'))).toEqual([]);
  });

  it('are no calls of CRI-O any more once the program of a kubectl exec runs', async () => {
    await addProcess(10, 'crio');
    const exec = ['runc', '--root', '/run/runc', 'exec', '--process', '/p', ID];
    await addProcess(30, 'runc', { parent: 10, args: exec });
    await addProcess(31, 'runc:[2:INIT]', { parent: 30 });
    const count = async (): Promise<number> => {
      const scan = await readProcesses(files);
      return (await findOciCalls(files, scan, findCrioCallers(scan), 60_000)).length;
    };
    expect(await count()).toBe(1);
    await addProcess(31, 'bash', { parent: 30 });
    expect(await count()).toBe(0);
  });

  it('find their pod beside the folder of their shim when they name no bundle', async () => {
    await addProcess(20, 'containerd-shim');
    await addProcess(30, 'sh', {
      parent: 20,
      args: ['/bin/sh', '/slow', ...RUNC.slice(1), 'kill', ID, '15'],
    });
    // The script's own runc, which is the same call.
    await addProcess(31, 'runc', { parent: 30, args: [...RUNC, 'kill', ID, '15'] });
    await symlink(`/tasks/${SANDBOX}`, join(root, 'proc/20/cwd'));
    await write(`tasks/${ID}/config.json`, bundle('db', 'main'));
    const scan = await readProcesses(files);
    const calls = await findOciCalls(files, scan, [SHIM], 60_000);
    expect(calls).toMatchObject([{ pid: 30, operation: 'kill', pod: { name: 'db' }, container: 'main' }]);
  });
});

describe('shims', () => {
  it('have their cgroup where the machine has it, also for who reads in a namespace of cgroups', () => {
    const unit = '/system.slice/containerd.service';
    expect(findCgroup(`0::/../../..${unit}\n`, 'memory')).toBe(`/sys/fs/cgroup${unit}`);
    expect(findCgroup(`4:pids:/../..${unit}\n`, 'pids')).toBe(`/sys/fs/cgroup/pids${unit}`);
    expect(findCgroup('0::/..\n', 'memory')).toBe('/sys/fs/cgroup');
    expect(findCgroup('0::/..hidden/x\n', 'memory')).toBe('/sys/fs/cgroup/..hidden/x');
  });

  it.each<[string, { state: string; wchan: string }, string | undefined]>([
    ['stopped by a signal', { state: 'T', wchan: 'do_signal_stop' }, 'stopped'],
    ['in the kernel', { state: 'D', wchan: 'rpc_wait_bit_killable' }, 'blocked'],
    ['at work', { state: 'S', wchan: 'futex_wait_queue' }, undefined],
  ])('that are %s', async (_, { state, wchan }, illness) => {
    await addProcess(20, 'containerd-shim', { state, wchan });
    await write('proc/20/cgroup', '6:freezer:/\n4:memory:/x\n');
    const scan = await readProcesses(files);
    const ill = await findIllShims(files, [SHIM], { before: scan, after: scan }, new Map(), 60_000);
    expect(ill.map((shim) => shim.illness)).toEqual(illness === undefined ? [] : [illness]);
  });

  it.each([
    [
      'v1',
      '6:freezer:/a/ice\n4:memory:/x\n',
      '/sys/fs/cgroup/freezer/a/ice',
      'freezer.state',
      ['THAWED\n', 'FROZEN\n'],
    ],
    [
      'v2',
      '0::/kubepods/ice\n',
      '/sys/fs/cgroup/kubepods/ice',
      'cgroup.events',
      ['populated 1\nfrozen 0\n', 'populated 1\nfrozen 1\n'],
    ],
  ] as const)(
    'that are frozen with a cgroup of %s, whatever they sleep in',
    async (_, line, folder, file, [thawed, frozen]) => {
      await addProcess(20, 'containerd-shim', { state: 'D', wchan: 'futex_do_wait' });
      await write('proc/20/cgroup', line);
      await write(`${folder}/${file}`, frozen);
      const scan = await readProcesses(files);
      const ill = await findIllShims(files, [SHIM], { before: scan, after: scan }, new Map(), 60_000);
      expect(ill).toMatchObject([{ illness: 'frozen', cgroup: folder }]);
      await write(`${folder}/${file}`, thawed);
      expect(await findFrozenCgroup(files, 20)).toBeUndefined();
    },
  );

  it.each([
    ['v1', '6:freezer:/a/b\n', 'freezer/a', 'freezer/a/b/freezer.state', 'FROZEN\n', 'freezer.self_freezing'],
    ['v2', '0::/a/b\n', 'a', 'a/b/cgroup.events', 'populated 1\nfrozen 1\n', 'cgroup.freeze'],
  ])(
    'that are frozen with a cgroup above theirs are thawed there: %s',
    async (_, line, above, file, text, own) => {
      await write('proc/20/cgroup', line);
      await write(`sys/fs/cgroup/${file}`, text);
      await write(`sys/fs/cgroup/${above}/b/${own}`, '0\n');
      await write(`sys/fs/cgroup/${above}/${own}`, '1\n');
      expect(await findFrozenCgroup(files, 20)).toBe(`/sys/fs/cgroup/${above}`);
    },
  );

  it('that a debugger holds are stopped, and those that one only watches are not', async () => {
    const clock = new FakeClock();
    files = new HostFiles({ root, clock, signal: new AbortController().signal });
    await addProcess(20, 'containerd-shim', { state: 't', wchan: 'ptrace_stop' });
    await addProcess(99, 'gdb');
    const addStatus = async (switches: number, state = 't (tracing stop)'): Promise<void> =>
      await write(
        'proc/20/status',
        `State:\t${state}\nTracerPid:\t99\nvoluntary_ctxt_switches:\t${switches}\nnonvoluntary_ctxt_switches:\t1\n`,
      );
    const judge = async (meanwhile: () => Promise<void>): Promise<IllShim[]> => {
      await addStatus(7);
      const scan = await readProcesses(files);
      const asked = findIllShims(files, [SHIM], { before: scan, after: scan }, new Map(), 60_000);
      await vi.waitFor(() => expect(clock.nextTimerInMs).toBe(100));
      await meanwhile();
      await clock.advance(100);
      return await asked;
    };
    expect(await judge(async () => {})).toMatchObject([
      { illness: 'stopped', state: 't', tracer: { pid: 99, command: 'gdb' } },
    ]);
    // strace lets it go on at each call.
    expect(await judge(async () => addStatus(8))).toEqual([]);
    expect(await judge(async () => addStatus(7, 'S (sleeping)'))).toEqual([]);
  });

  it('that took a question and did not answer are ill, others are not', async () => {
    await addProcess(20, 'containerd-shim');
    const scan = await readProcesses(files);
    const judge = async (answer: 'silent' | 'gone' | 'answers'): Promise<string[]> => {
      const answers = new Map([[20, { answer, forMs: 5_000 }]]);
      const ill = await findIllShims(files, [SHIM], { before: scan, after: scan }, answers, 60_000);
      return ill.map(({ illness }) => illness);
    };
    expect(await judge('silent')).toEqual(['silent']);
    expect(await judge('answers')).toEqual([]);
    expect(await judge('gone')).toEqual([]);
  });

  it.each([
    ['/kubepods/burstable/pod0b8d4f5e-1111-2222-3333-444455556666', '0b8d4f5e-1111-2222-3333-444455556666'],
    [
      '/kubepods.slice/kubepods-pod0b8d4f5e_1111_2222_3333_444455556666.slice',
      '0b8d4f5e-1111-2222-3333-444455556666',
    ],
    [`/kubepods/pod${'ab'.repeat(16)}`, 'ab'.repeat(16)],
    ['/system.slice/podman.service', undefined],
  ])(
    'that have lost their bundle are known by the uid in the cgroup of their pod: %s',
    async (group, uid) => {
      await addProcess(20, 'containerd-shim', { state: 'T', wchan: 'do_signal_stop' });
      await addProcess(32, 'pause', { parent: 20 });
      await write('proc/32/cgroup', `0::${group}/${ID}\n`);
      const scan = await readProcesses(files);
      const [ill] = await findIllShims(files, [SHIM], { before: scan, after: scan }, new Map(), 60_000);
      expect([ill?.illness, ill?.pod, ill?.podUid]).toEqual(['stopped', undefined, uid]);
    },
  );

  it('that have lost their bundle are known by what is mounted for their pod, where its cgroup does not say', async () => {
    await addProcess(20, 'containerd-shim', { state: 'T', wchan: 'do_signal_stop' });
    for (const pid of [32, 33]) {
      await addProcess(pid, 'app', { parent: 20 });
      await write(`proc/${pid}/cgroup`, `0::/k8s.io/${ID}\n`);
    }
    const uid = '0b8d4f5e-1111-2222-3333-444455556666';
    const line = `36 35 254:0 /var/lib/kubelet/pods/${uid}/etc-hosts /etc/hosts rw - ext4 /dev/vda rw\n`;
    await write('proc/33/mountinfo', line);
    const scan = await readProcesses(files);
    const [ill] = await findIllShims(files, [SHIM], { before: scan, after: scan }, new Map(), 60_000);
    expect(ill?.podUid).toBe(uid);
  });

  it('that have a call under way are at work, unless something below them lasts', async () => {
    await addProcess(20, 'containerd-shim');
    await addProcess(30, 'runc', { parent: 20, startTicks: 5_500 });
    const answers = new Map([[20, { answer: 'silent' as const, forMs: 10_000 }]]);
    const judge = async () => {
      const scan = await readProcesses(files);
      return await findIllShims(files, [SHIM], { before: scan, after: scan }, answers, 60_000);
    };
    expect(await judge()).toEqual([]);
    // Left behind by an earlier call.
    await addProcess(31, 'sleep', { parent: 20, startTicks: 3_000 });
    // A container's first process is no call.
    await addProcess(32, 'app', { parent: 20, startTicks: 3_000 });
    await write('proc/32/cgroup', `0::/pods/${ID}\n`);
    expect((await judge()).map(({ helpers }) => helpers.map(({ pid }) => pid))).toEqual([[30, 31]]);
  });

  it('that do not answer while a container of theirs is frozen are ill, however young the calls below them are', async () => {
    await addProcess(20, 'containerd-shim');
    await addProcess(21, 'app', { parent: 20 });
    await write('proc/21/cgroup', `0::/kubepods/pod1/${ID}\n`);
    await addProcess(5_900, 'runc', { parent: 20 });
    const folder = `/sys/fs/cgroup/kubepods/pod1/${ID}`;
    const find = async (): Promise<IllShim[]> => {
      const scan = await readProcesses(files);
      const silent = new Map([[20, { answer: 'silent' as const, forMs: 10_000 }]]);
      return await findIllShims(files, [SHIM], { before: scan, after: scan }, silent, 60_000);
    };
    expect(await find()).toEqual([]);
    await write(`${folder}/cgroup.events`, 'populated 1\nfrozen 1\n');
    expect(await find()).toMatchObject([{ illness: 'silent', cgroup: folder }]);
  });

  it('are listed with the files that they have open, the fullest first, by the names of their pods', async () => {
    const shims = [SHIM, ...[21, 22, 23].map((pid) => ({ ...SHIM, pid }))];
    for (const [at, { pid }] of shims.entries()) {
      const limit = pid === 23 ? 'unlimited' : '40';
      await write(
        `proc/${pid}/limits`,
        `Limit  Soft Limit  Hard Limit  Units\nMax open files    ${limit}    524288    files\n`,
      );
      for (let fd = 0; fd <= at; fd++) await write(`proc/${pid}/fd/${fd}`, '');
    }
    await symlink('/b', join(root, 'proc/22/cwd'));
    await write('b/config.json', bundle('web'));
    expect(await findShimFiles(files, shims)).toMatchObject([
      { pid: 22, pod: { name: 'web' }, openFiles: { used: 3, limit: 40 } },
      { pid: 21, openFiles: { used: 2, limit: 40 } },
      { pid: 20, openFiles: { used: 1, limit: 40 } },
    ]);
  });

  it('say where they listen as an address or as an object', () => {
    expect(parseShimSocket('unix:///run/containerd/s/1f\n')).toEqual({
      path: '/run/containerd/s/1f',
      version: 2,
    });
    const object = { version: 3, address: 'unix:///run/s/2', protocol: 'ttrpc' };
    expect(parseShimSocket(JSON.stringify(object))).toEqual({ path: '/run/s/2', version: 3 });
    expect(parseShimSocket(JSON.stringify({ ...object, protocol: 'grpc' }))).toBeUndefined();
    expect(parseShimSocket('{"half')).toBeUndefined();
    expect(parseShimSocket('vsock://3:1024')).toBeUndefined();
  });
});

/** The configuration of a bundle, with the sandbox that it is in. */
function inSandbox(text: string): string {
  const config = JSON.parse(text) as { annotations: Record<string, string> };
  return JSON.stringify({ annotations: { ...config.annotations, 'io.kubernetes.cri.sandbox-id': SANDBOX } });
}

describe('the question to a shim', () => {
  let server: Server;
  let received: Buffer;
  const connections: Socket[] = [];

  async function listen(onData: (socket: Socket) => void): Promise<void> {
    received = Buffer.alloc(0);
    server = createServer((socket) => {
      connections.push(socket);
      socket.on('data', (chunk: Buffer) => {
        received = Buffer.concat([received, chunk]);
        onData(socket);
      });
    });
    await mkdir(join(root, 's'), { recursive: true });
    await new Promise<void>((resolve) => server.listen(join(root, 's/shim'), resolve));
    await write('b/address', 'unix:///s/shim');
  }

  afterEach(() => {
    for (const socket of connections.splice(0)) socket.destroy();
    server.close();
  });

  it('is one call of its task API, and any answer is one', async () => {
    await listen((socket) => socket.write('whatever'));
    expect(await askShim(files, '/b', SANDBOX)).toEqual({ answer: 'answers', forMs: 0 });
    expect(received).toEqual(stateRequest(SANDBOX, 2));
    expect(received.readUInt32BE(0)).toBe(received.length - 10);
    expect(received.toString('latin1')).toContain(`containerd.task.v2.Task\x12\x05State`);
    expect(stateRequest(SANDBOX, 3).toString('latin1')).toContain('containerd.task.v3.Task');
  });

  it('has a deadline', async () => {
    const clock = new FakeClock();
    files = new HostFiles({ root, clock, signal: new AbortController().signal });
    let asked = (): void => undefined;
    const heard = new Promise<void>((resolve) => (asked = resolve));
    await listen(() => asked());
    const answer = askShim(files, '/b', SANDBOX);
    await heard;
    await clock.advance(10_000);
    expect(await answer).toEqual({ answer: 'silent', forMs: 10_000 });
  });

  it('is one for the sandbox and each container, and shows which of them is locked', async () => {
    const clock = new FakeClock();
    files = new HostFiles({ root, clock, signal: new AbortController().signal });
    let asked = (): void => undefined;
    const heard = new Promise<void>((resolve) => (asked = resolve));
    await listen((socket) => (received.includes(ID) ? asked() : socket.write('whatever')));
    await addProcess(20, 'containerd-shim');
    await symlink(`/tasks/${SANDBOX}`, join(root, 'proc/20/cwd'));
    await write(`tasks/${SANDBOX}/address`, 'unix:///s/shim');
    await write(`tasks/${SANDBOX}/config.json`, inSandbox(bundle('web')));
    await write(`tasks/${ID}/config.json`, inSandbox(bundle('web', 'app')));
    const replies = askShims(files, [SHIM]);
    await heard;
    await clock.advance(10_000);
    const scan = await readProcesses(files);
    const ill = await findIllShims(files, [SHIM], { before: scan, after: scan }, await replies, 60_000);
    expect(ill).toMatchObject([
      { illness: 'silent', pod: { name: 'web' }, container: 'app', silentForMs: 10_000 },
    ]);
  });

  it('names its pod also where the runtime, which starts meanwhile, takes the bundle away', async () => {
    const clock = new FakeClock();
    files = new HostFiles({ root, clock, signal: new AbortController().signal });
    let asked = (): void => undefined;
    const heard = new Promise<void>((resolve) => (asked = resolve));
    await listen(() => asked());
    await addProcess(20, 'containerd-shim', { state: 'T', wchan: 'do_signal_stop' });
    await symlink(`/tasks/${SANDBOX}`, join(root, 'proc/20/cwd'));
    await write(`tasks/${SANDBOX}/address`, 'unix:///s/shim');
    await write(`tasks/${SANDBOX}/config.json`, inSandbox(bundle('web')));
    const replies = askShims(files, [SHIM]);
    await heard;
    await rm(join(root, 'tasks'), { recursive: true });
    await clock.advance(10_000);
    const scan = await readProcesses(files);
    const ill = await findIllShims(files, [SHIM], { before: scan, after: scan }, await replies, 60_000);
    expect(ill).toMatchObject([{ illness: 'stopped', pod: { name: 'web' } }]);
    expect(ill[0]).not.toHaveProperty('container');
  });

  it('has its deadline for all together, however many are silent', async () => {
    const clock = new FakeClock();
    files = new HostFiles({ root, clock, signal: new AbortController().signal });
    let requests = 0;
    await listen(() => requests++);
    await write(`tasks/${SANDBOX}/address`, 'unix:///s/shim');
    const shims = Array.from({ length: 100 }, (_, at) => ({ ...SHIM, pid: 100 + at }));
    for (const { pid } of shims) {
      await addProcess(pid, 'containerd-shim');
      await symlink(`/tasks/${SANDBOX}`, join(root, `proc/${pid}/cwd`));
    }
    const replies = askShims(files, shims);
    for (let asked = 16; asked < 100 + 16; asked += 16) {
      await expect.poll(() => requests).toBe(Math.min(asked, 100));
      await clock.advance(250);
    }
    // All of them have been asked within two seconds, and have had their ten.
    await clock.advance(10_000);
    expect([...(await replies).values()].map(({ answer }) => answer)).toEqual(shims.map(() => 'silent'));
  });

  it('is not asked where nobody knows the socket, and nobody listens at one that is gone', async () => {
    await listen((socket) => socket.destroy());
    expect(await askShim(files, '/nowhere', SANDBOX)).toMatchObject({ answer: 'unknown' });
    expect(await askShim(files, '/b', SANDBOX)).toMatchObject({ answer: 'gone' });
    await write('b/address', 'unix:///s/other');
    expect(await askShim(files, '/b', SANDBOX)).toMatchObject({ answer: 'gone' });
  });
});

describe('what belongs to a process', () => {
  it('is the pod in the annotations of its bundle, of containerd and of CRI-O', () => {
    const pod = { uid: 'uid-web', namespace: 'default', name: 'web' };
    expect(parseBundle(bundle('web'))).toEqual({ pod });
    expect(parseBundle(bundle('web', 'app'))).toEqual({ pod, container: 'app' });
    const crio = {
      ...{ 'io.kubernetes.pod.uid': 'uid-web', 'io.kubernetes.pod.namespace': 'default' },
      ...{ 'io.kubernetes.pod.name': 'web', 'io.kubernetes.container.name': 'POD' },
    };
    expect(parseBundle(JSON.stringify({ annotations: crio }))).toEqual({ pod });
    for (const text of ['', '{"annotations":', '{}', '{"annotations":null}', '{"annotations":{"a":1}}'])
      expect(parseBundle(text)).toEqual({});
  });

  it('is its cgroup on v1 and on v2', () => {
    expect(findCgroup('6:freezer:/ice\n5:devices:/\n0::/\n', 'freezer')).toBe('/sys/fs/cgroup/freezer/ice');
    expect(findCgroup('1:cpu,cpuacct:/a\n', 'cpu')).toBe('/sys/fs/cgroup/cpu/a');
    expect(findCgroup('0::/system.slice/containerd.service\n', 'freezer')).toBe(
      '/sys/fs/cgroup/system.slice/containerd.service',
    );
    expect(findCgroup('', 'freezer')).toBeUndefined();
  });
});
