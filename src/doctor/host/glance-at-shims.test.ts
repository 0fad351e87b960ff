import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { HostFiles } from '../facts/host-files.js';
import { ShimGlancer } from './glance-at-shims.js';

const ID = 'c'.repeat(64);
const UPTIME_S = 1_000;
let root: string;
let files: HostFiles;
let reads: string[];
let lists: number;
let glancer: ShimGlancer;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'podloop-glance-'));
  files = new HostFiles({ root, clock: new FakeClock(), signal: new AbortController().signal });
  reads = [];
  const find = files.find.bind(files);
  files.find = async (path) => {
    reads.push(path);
    return await find(path);
  };
  const findAllAtOnce = files.findAllAtOnce.bind(files);
  files.findAllAtOnce = async (paths) => {
    reads.push(...paths);
    return await findAllAtOnce(paths);
  };
  lists = 0;
  const list = files.list.bind(files);
  files.list = async (path) => {
    lists++;
    return await list(path);
  };
  glancer = new ShimGlancer();
  await mkdir(join(root, 'proc'));
  await writeFile(join(root, 'proc/uptime'), `${UPTIME_S}.00 1.00\n`);
  await write(100, 'containerd-shim', { state: 'S' });
});

afterEach(async () => {
  await rm(root, { recursive: true, force: true });
});

interface Fields {
  readonly state?: string;
  readonly parent?: number;
  readonly ageS?: number;
  readonly args?: readonly string[];
}

async function write(pid: number, command: string, fields: Fields): Promise<void> {
  const { state = 'S', parent = 1, ageS = 60, args = [command] } = fields;
  const folder = join(root, `proc/${pid}`);
  const ticks = (UPTIME_S - ageS) * 100;
  await mkdir(folder, { recursive: true });
  await writeFile(
    join(folder, 'stat'),
    `${pid} (${command}) ${state} ${parent} 1 1 0 -1 0 0 0 0 0 1 2 3 4 20 0 1 0 ${ticks} 9 9\n`,
  );
  await writeFile(join(folder, 'cmdline'), args.map((word) => `${word}\0`).join(''));
}

const runc = (operation: string): string[] => ['runc', '--root', '/r', '--log', '/l', operation, ID];

it.each([
  ['T', 1],
  ['t', 1],
  ['S', 0],
  ['D', 0],
])('a shim in state %s counts as stopped: %d', async (state, stopped) => {
  await glancer.glance(files);
  await write(100, 'containerd-shim', { state });
  expect(await glancer.glance(files)).toEqual({ stopped, stoppedDaemons: 0, longCalls: 0 });
});

it.each(['containerd', 'crio', 'kubelet'])('%s that a signal has stopped is seen', async (command) => {
  await write(100, command, {});
  expect(await glancer.glance(files)).toMatchObject({ stoppedDaemons: 0 });
  await write(100, command, { state: 'T' });
  expect(await glancer.glance(files)).toEqual({ stopped: 0, stoppedDaemons: 1, longCalls: 0 });
});

it.each(['create', 'exec', 'kill', 'delete'])(
  'a call of runc %s takes long after ten seconds',
  async (operation) => {
    const args = runc(operation);
    await write(200, 'runc', { parent: 100, ageS: 9, args });
    expect(await glancer.glance(files)).toEqual({ stopped: 0, stoppedDaemons: 0, longCalls: 0 });
    await write(200, 'runc', { parent: 100, ageS: 11, args });
    expect(await glancer.glance(files)).toEqual({ stopped: 0, stoppedDaemons: 0, longCalls: 1 });
    await rm(join(root, 'proc/200'), { recursive: true });
    expect(await glancer.glance(files)).toEqual({ stopped: 0, stoppedDaemons: 0, longCalls: 0 });
  },
);

it('what is no call of a shim raises nothing, however old it is and whatever it is named', async () => {
  await write(200, 'runc', { parent: 1, args: runc('create') });
  await write(201, 'sh', { parent: 100, state: 'T', args: ['sh', '-c', 'runc create'] });
  expect(await glancer.glance(files)).toEqual({ stopped: 0, stoppedDaemons: 0, longCalls: 0 });
});

it('a process that becomes a shim or a call after its fork is seen', async () => {
  await write(101, 'containerd', { state: 'R' });
  await write(200, 'containerd-shim-x', { parent: 300 });
  await write(201, 'exe', { parent: 100 });
  await glancer.glance(files);
  await write(101, 'containerd-shim', { state: 'T' });
  await write(201, 'runc', { parent: 100, args: runc('create') });
  expect(await glancer.glance(files)).toEqual({ stopped: 1, stoppedDaemons: 0, longCalls: 1 });
});

it('other processes are read at two glances alone', async () => {
  await write(400, 'nginx', {});
  for (let glance = 0; glance < 5; glance++) await glancer.glance(files);
  expect(reads.filter((path) => path.startsWith('/proc/400/'))).toHaveLength(2);
  expect(reads.filter((path) => path === '/proc/100/stat')).toHaveLength(5);
});

it('a process that has the pid of a shim that ended is read again', async () => {
  for (let glance = 0; glance < 2; glance++) await glancer.glance(files);
  await write(100, 'nginx', { state: 'T' });
  expect(await glancer.glance(files)).toEqual({ stopped: 0, stoppedDaemons: 0, longCalls: 0 });
  await write(100, 'containerd', { state: 'T' });
  expect(await glancer.glance(files)).toMatchObject({ stopped: 0, stoppedDaemons: 1 });
});

describe('the list of processes', () => {
  const setLastPid = async (pid: number): Promise<void> => {
    await mkdir(join(root, 'proc/sys/kernel'), { recursive: true });
    await writeFile(join(root, 'proc/sys/kernel/ns_last_pid'), `${pid}\n`);
  };

  it('is read again once a process was made', async () => {
    await symlink(String(process.pid), join(root, 'proc/self'));
    await setLastPid(500);
    for (let glance = 0; glance < 5; glance++) await glancer.glance(files);
    expect(lists).toBe(1);
    await write(501, 'containerd-shim', { state: 'T' });
    await setLastPid(501);
    expect(await glancer.glance(files)).toMatchObject({ stopped: 1 });
    expect(lists).toBe(2);
  });

  it('still shows which processes have ended or are stopped meanwhile', async () => {
    await symlink(String(process.pid), join(root, 'proc/self'));
    await setLastPid(500);
    await write(101, 'containerd', {});
    await glancer.glance(files);
    await rm(join(root, 'proc/100'), { recursive: true });
    await write(101, 'containerd', { state: 'T' });
    for (let glance = 0; glance < 2; glance++)
      expect(await glancer.glance(files)).toEqual({ stopped: 0, stoppedDaemons: 1, longCalls: 0 });
  });

  it.each([
    [500, 501],
    [32_768, 400],
  ])(
    'shows a shim with the pid of one that ended while none was made: from %d to %d',
    async (before, last) => {
      await symlink(String(process.pid), join(root, 'proc/self'));
      await setLastPid(before);
      await write(last, 'sleep', {});
      for (let glance = 0; glance < 3; glance++) await glancer.glance(files);
      await write(last, 'containerd-shim', { state: 'T' });
      await setLastPid(last);
      expect(await glancer.glance(files)).toMatchObject({ stopped: 1 });
    },
  );

  it('is read each time where /proc is that of another pid namespace', async () => {
    await symlink(String(process.pid + 1), join(root, 'proc/self'));
    await setLastPid(500);
    for (let glance = 0; glance < 3; glance++) await glancer.glance(files);
    expect(lists).toBe(3);
  });
});
