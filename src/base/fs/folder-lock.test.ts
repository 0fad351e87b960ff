import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { findOpenBelow } from '#support/find-open-below.js';
import {
  findOwnerless,
  type FolderLock,
  lockFolder,
  NODE_ROOT_LOCK,
  RUNTIME_ROOT_LOCK,
} from './folder-lock.js';
import { findProcess } from '../proc/process-identity.js';

let folder: string;
let clock: FakeClock;
let holders: ChildProcess[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-lock-'));
  clock = new FakeClock();
  holders = [];
});
afterEach(async () => {
  vi.unstubAllEnvs();
  holders.forEach((each) => each.kill('SIGKILL'));
  await rm(folder, { recursive: true });
});

const take = async (): Promise<FolderLock> => lockFolder(folder, NODE_ROOT_LOCK, { clock });

/**
 * Another process that holds the lock of that file until it is killed; `lead` is put before its command line.
 */
async function holdElsewhere(...lead: readonly string[]): Promise<ChildProcess> {
  const words = [
    ...lead,
    'flock',
    '-F',
    '-n',
    join(folder, 'node.lock'),
    'sh',
    '-c',
    'echo held; exec sleep 1000',
  ];
  const holder = spawn(words[0]!, words.slice(1), { stdio: ['ignore', 'pipe', 'inherit'] });
  holders.push(holder);
  await once(holder.stdout, 'data');
  return holder;
}

async function writeOwner(owner: string): Promise<void> {
  await writeFile(join(folder, 'node.lock'), `${owner.padEnd(39)}\n`);
}

const identityOf = (pid: number): string => `${pid} ${findProcess(pid)!.startTicks}`;

/** Advances time, and lets real processes end between the steps, until the promise settles. */
async function settled<T>(promise: Promise<T>): Promise<T> {
  let isSettled = false;
  const over = promise.finally(() => (isSettled = true));
  over.catch(() => undefined);
  while (!(isSettled as boolean)) {
    await clock.advance(50);
    await new Promise((done) => setTimeout(done, 1));
  }
  return over;
}

describe('the lock of a folder', () => {
  it('has one owner at a time, who is named with what to do next, and then the next after its release', async () => {
    const first = await take();
    await expect(take()).rejects.toMatchObject({
      code: 'NODE_ROOT_IN_USE',
      message: `another node agent works in ${folder} (pid ${process.pid}): end the other one, or choose another folder with --root-dir`,
    });
    await first.release();
    await using second = await take();
    await first.release();
    expect(second).toBeDefined();
    await expect(take()).rejects.toThrow('another node agent');
  });

  it('does not affect other kinds', async () => {
    await using _node = await take();
    await using runtime = await lockFolder(folder, RUNTIME_ROOT_LOCK, { clock });
    expect(runtime).toBeDefined();
  });

  it('cannot be opened by other users, and its folder is created for its owner alone', async () => {
    const place = join(folder, 'new/root');
    await using _lock = await lockFolder(place, NODE_ROOT_LOCK, { clock });
    expect((await stat(place)).mode & 0o777).toBe(0o700);
    expect((await stat(join(place, 'node.lock'))).mode & 0o777).toBe(0o600);
  });

  it.skipIf(process.geteuid?.() !== 0)('also excludes a process in another network namespace', async () => {
    const { pid } = await holdElsewhere('unshare', '-n');
    await writeOwner(identityOf(pid!));
    await expect(take()).rejects.toThrow(`(pid ${pid})`);
  });

  it('is free once its owner was killed, whoever has that pid now', async () => {
    const holder = await holdElsewhere();
    await writeOwner(identityOf(holder.pid!));
    await expect(take()).rejects.toThrow(`(pid ${holder.pid})`);
    holder.kill('SIGKILL');
    await once(holder, 'exit');
    await writeOwner(identityOf(process.pid));
    await using lock = await take();
    expect(lock).toBeDefined();
  });

  it('is waited for while its owner no longer exists: it may be ending, or has not written its name yet', async () => {
    const first = await take();
    await first.announceRelease();
    const second = settled(take());
    await first.release();
    await using lock = await second;
    expect(lock).toBeDefined();
  });

  it('is not waited for without a limit', async () => {
    await holdElsewhere();
    await writeOwner(`${process.pid} 1`);
    await expect(settled(take())).rejects.toThrow(`(pid ${process.pid})`);
  });

  it('is waited for only until the signal aborts', async () => {
    await holdElsewhere();
    const ending = new AbortController();
    const taking = settled(lockFolder(folder, NODE_ROOT_LOCK, { clock, signal: ending.signal }));
    ending.abort(new Error('ended'));
    await expect(taking).rejects.toThrow('ended');
  });

  it('overwrites the last owner in the same space, for a disk that is full', async () => {
    const file = join(folder, 'node.lock');
    await (await take()).release();
    const { size, ino } = await stat(file);
    await using _lock = await take();
    expect(await readFile(file, 'utf8')).toMatch(new RegExp(`^${process.pid} \\d+ *\\n$`));
    expect(await stat(file)).toMatchObject({ size, ino });
  });

  it('is refused with a clear message on a machine without flock', async () => {
    vi.stubEnv('PATH', join(folder, 'no-programs'));
    await expect(take()).rejects.toMatchObject({
      code: 'PLATFORM_UNSUPPORTED',
      message: 'the program flock of util-linux is missing',
    });
  });
});

describe('a lock that fails', () => {
  it('leaves no file open when flock cannot be started', async () => {
    // More than the kernel passes to a program.
    vi.stubEnv('PODLOOP_TEST_LONG', 'x'.repeat(200_000));
    await expect(take()).rejects.toThrow('E2BIG');
    await expect(findOwnerless(folder, NODE_ROOT_LOCK)).rejects.toThrow('E2BIG');
    expect(await findOpenBelow(folder)).toEqual([]);
  });

  it('leaves no file open when its owner cannot be read', async () => {
    // A pipe can be opened for both and cannot be read at a position.
    execFileSync('mkfifo', [join(folder, 'node.lock')]);
    await expect(findOwnerless(folder, NODE_ROOT_LOCK)).rejects.toThrow('ESPIPE');
    expect(await findOpenBelow(folder)).toEqual([]);
  });
});

describe('a folder without an owner', () => {
  it('can be locked once its owner has released it, and the next owner waits meanwhile', async () => {
    const owner = await take();
    expect(await findOwnerless(folder, NODE_ROOT_LOCK)).toBeUndefined();
    await owner.release();
    const last = await findOwnerless(folder, NODE_ROOT_LOCK);
    expect(last).toBeDefined();
    const next = settled(take());
    await last!.release();
    await using lock = await next;
    expect(lock).toBeDefined();
  });

  it('is not changed by this check, as it may just be removed', async () => {
    await expect(findOwnerless(folder, NODE_ROOT_LOCK)).rejects.toThrow('ENOENT');
    expect(await readdir(folder)).toEqual([]);
  });

  it('cannot be locked while an unknown process has the lock', async () => {
    await holdElsewhere();
    await writeOwner('1 1');
    expect(await findOwnerless(folder, NODE_ROOT_LOCK)).toBeUndefined();
  });
});
