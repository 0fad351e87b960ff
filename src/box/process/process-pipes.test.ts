import { spawn } from 'node:child_process';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { SystemClock } from '#base/time/clock.js';
import { FakeClock } from '#testing/fake-clock.js';
import { makeProcessPipes, MKFIFO_MS } from './process-pipes.js';

const clock = new SystemClock();
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-pipes-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

async function run(script: string, wanted = { stdin: true, stdout: true, stderr: true }) {
  const pipes = await makeProcessPipes({ ...wanted, folder, clock });
  const child = spawn('sh', ['-c', script], { stdio: [...pipes.stdio] });
  pipes.closeTheirs();
  return { ...pipes, exit: new Promise<number | null>((resolve) => child.once('exit', resolve)) };
}

it('streams can be opened again by their names under /dev', async () => {
  const { stdout, stderr, exit } = await run('echo out >/dev/stdout; echo err >/dev/stderr', {
    stdin: false,
    stdout: true,
    stderr: true,
  });
  expect(await Promise.all([text(stdout!), text(stderr!), exit])).toEqual(['out\n', 'err\n', 0]);
});

it('each stream ends when its other side is closed', async () => {
  const { stdin, stdout, stderr, exit } = await run('exec 2>&-; cat; exit 3');
  expect(await text(stderr!)).toBe('');
  stdin!.end('through');
  expect(await text(stdout!)).toBe('through');
  expect(await exit).toBe(3);
});

it('much goes through them in both directions', async () => {
  const { stdin, stdout } = await run('cat');
  const much = Buffer.alloc(5_000_000, 'much ');
  stdin!.end(much);
  expect(await text(stdout!)).toBe(much.toString());
});

it('the process does not see that our ends never block', async () => {
  const { stdin, stdout } = await run('head -c 3000000 /dev/zero; read line; echo "$line"');
  stdin!.write('late\n');
  expect((await text(stdout!)).slice(3_000_000)).toBe('late\n');
});

it('nothing of them stays in the folder, nor what is not wanted', async () => {
  const { stdin, stdout, stderr, stdio, exit } = await run('exit 0', {
    stdin: false,
    stdout: false,
    stderr: false,
  });
  expect([stdin, stdout, stderr]).toEqual([undefined, undefined, undefined]);
  expect(stdio).toEqual(['ignore', 'ignore', 'ignore']);
  expect(await exit).toBe(0);
  expect(await readdir(folder)).toEqual([]);
  await expect(
    makeProcessPipes({ stdin: true, stdout: true, stderr: true, folder: '/no/such', clock }),
  ).rejects.toThrow();
});

const ONE = { stdin: true, stdout: false, stderr: false };

it('are made by the tool that all of us use, whatever this process has in its PATH', async () => {
  const { PATH } = process.env;
  process.env['PATH'] = folder;
  try {
    const pipes = await makeProcessPipes({ ...ONE, folder, clock });
    pipes.closeTheirs();
    pipes.stdin!.destroy();
    expect(pipes.stdio.map((each) => typeof each)).toEqual(['number', 'string', 'string']);
  } finally {
    process.env['PATH'] = PATH;
  }
});

it('are given up when making them takes too long, as on a disk that hangs', async () => {
  const mkfifo = join(folder, 'hanging-mkfifo');
  await writeFile(mkfifo, '#!/bin/sh\nexec sleep 1000\n', { mode: 0o755 });
  const fake = new FakeClock();
  const pipes = makeProcessPipes({ ...ONE, folder, clock: fake, mkfifo });
  pipes.catch(() => undefined);
  await fake.advanceUntil(() => fake.pendingTimers === 1, 0);
  await fake.advance(MKFIFO_MS);
  await expect(pipes).rejects.toThrow('did not end within 10 s');
});
