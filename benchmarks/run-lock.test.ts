import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { takeRunLock } from './run-lock.js';

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'podloop-lock-'));
  file = path.join(folder, 'cache', 'bench.lock');
});
afterEach(async () => rm(folder, { recursive: true, force: true }));

it('lets one run in at a time, and names it', async () => {
  const lock = await takeRunLock(file);
  await expect(takeRunLock(file)).rejects.toThrow(
    `another run that keeps results is at work (process ${process.pid})`,
  );
  await lock[Symbol.asyncDispose]();
  await using again = await takeRunLock(file);
  expect(again).toBeDefined();
  expect(await readdir(path.dirname(file))).toEqual(['bench.lock']);
});

it('passes over the lock of a run that was killed, whoever has its pid by now', async () => {
  await (await takeRunLock(file))[Symbol.asyncDispose]();
  for (const stale of [`${process.pid} 1\n`, '4194305 77\n', '', 'nonsense']) {
    await writeFile(file, stale);
    const lock = await takeRunLock(file);
    expect(await readFile(file, 'utf8')).toMatch(new RegExp(`^${process.pid} \\d+\n$`));
    await lock[Symbol.asyncDispose]();
  }
  expect(await readdir(path.dirname(file))).toEqual([]);
});
