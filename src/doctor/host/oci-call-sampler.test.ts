import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { HostFiles } from '../facts/host-files.js';
import { readProcesses } from '../facts/process-table.js';
import { type OciCall } from './host-facts.js';
import { OciCallSampler } from './oci-call-sampler.js';

const SOCKET = '/run/c.sock';
const TICKS_PER_S = 100;
const BOOTED_S = 1_000;
let root: string;
let clock: FakeClock;
let files: HostFiles;
let reads: string[];

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'podloop-sampler-'));
  clock = new FakeClock();
  files = new HostFiles({ root, clock, signal: new AbortController().signal });
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
  await setUptime(0);
});

afterEach(async () => {
  await rm(root, { recursive: true, force: true });
});

async function setUptime(seconds: number): Promise<void> {
  await mkdir(join(root, 'proc'), { recursive: true });
  await writeFile(join(root, 'proc/uptime'), `${BOOTED_S + seconds}.00 1.00\n`);
}

async function start(pid: number, command: string, parent: number, atS: number, args: string[]) {
  const folder = join(root, `proc/${pid}`);
  await mkdir(folder, { recursive: true });
  const ticks = (BOOTED_S + atS) * TICKS_PER_S;
  await writeFile(
    join(folder, 'stat'),
    `${pid} (${command}) S ${parent} 1 1 0 -1 0 0 0 0 0 1 2 3 4 20 0 1 0 ${ticks} 9 9\n`,
  );
  await writeFile(join(folder, 'cmdline'), args.map((word) => `${word}\0`).join(''));
}

async function end(pid: number): Promise<void> {
  await rm(join(root, `proc/${pid}`), { recursive: true });
}

async function startShim(pid: number, atS: number, address = SOCKET): Promise<void> {
  const args = ['-namespace', 'k8s.io', '-address', address, '-id', 'b'.repeat(64)];
  await start(pid, 'containerd-shim', 1, atS, ['containerd-shim-runc-v2', ...args]);
}

async function startRunc(pid: number, shim: number, atS: number): Promise<void> {
  const args = ['--root', '/run/runc', '--log', '/l', 'create', '--bundle', `/b/${pid}`, 'a'.repeat(64)];
  const annotations = {
    'io.kubernetes.cri.sandbox-namespace': 'default',
    'io.kubernetes.cri.sandbox-name': `pod-${pid}`,
  };
  await mkdir(join(root, `b/${pid}`), { recursive: true });
  await writeFile(join(root, `b/${pid}/config.json`), JSON.stringify({ annotations }));
  await start(pid, 'runc', shim, atS, ['runc', ...args]);
}

/** Samples each second, after what happens in that second; resolves with all calls that were seen. */
async function sample(happenings: readonly (() => Promise<unknown>)[]): Promise<readonly OciCall[]> {
  const sampler = new OciCallSampler({ files, clock, socketPath: SOCKET });
  sampler.know(await readProcesses(files));
  for (const [at, happen] of happenings.entries()) {
    await happen();
    await setUptime(at + 1);
    await sampler.sample();
  }
  return await sampler.end();
}

const nothing = () => Promise.resolve();

describe('samples of an OCI runtime’s calls', () => {
  it('see calls that begin and end between two scans, as old as they became', async () => {
    await startShim(20, -100);
    const calls = await sample([
      () => startRunc(30, 20, 0),
      ...Array.from({ length: 4 }, () => nothing),
      () => end(30),
    ]);
    expect(calls).toMatchObject([{ pid: 30, operation: 'create', pod: { name: 'pod-30' }, forMs: 5_000 }]);
  });

  it('see calls of shims that started meanwhile, and not those of another containerd', async () => {
    await startShim(21, -100, '/run/other.sock');
    const calls = await sample([
      () => startShim(20, 0),
      async () => {
        await startRunc(30, 20, 1);
        await startRunc(31, 21, 1);
      },
      nothing,
    ]);
    expect(calls.map(({ pid }) => pid)).toEqual([30]);
  });

  it('see two calls of one pid as two', async () => {
    await startShim(20, -100);
    const again = async () => {
      await end(30);
      await startRunc(30, 20, 1);
    };
    const calls = await sample([() => startRunc(30, 20, 0), again, nothing]);
    expect(calls.map(({ forMs }) => forMs)).toEqual([1_000, 2_000]);
  });

  it('come each second until their end', async () => {
    await startShim(20, -100);
    const sampler = new OciCallSampler({ files, clock, socketPath: SOCKET });
    const uptimes = () => reads.filter((path) => path === '/proc/uptime').length;
    sampler.begin(await readProcesses(files), new AbortController().signal);
    await vi.waitFor(() => expect(uptimes()).toBe(1));
    await startRunc(30, 20, 0);
    await vi.waitFor(async () => {
      await clock.advance(1_000);
      expect(uptimes()).toBeGreaterThanOrEqual(2);
    });
    expect((await sampler.end()).map(({ pid }) => pid)).toEqual([30]);
    const before = uptimes();
    await clock.advance(10_000);
    expect(uptimes()).toBe(before);
  });

  it('read no process that is older than a minute again', async () => {
    await startShim(20, -100);
    for (let pid = 40; pid < 60; pid++) await start(pid, 'app', 20, -90, ['app']);
    await sample([nothing, nothing, nothing]);
    const readsOf = (pid: number): number => reads.filter((path) => path.startsWith(`/proc/${pid}/`)).length;
    // One is that of the scan before.
    expect(readsOf(40)).toBe(1);
    // Of the shim its arguments as well, and whether it runs in a container.
    expect(readsOf(20)).toBe(3);
  });
});
