import { mkdtemp, open, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { FakeClock } from '../testing/fake-clock.js';
import { findOpenBelow } from '../testing/find-open-below.js';
import { RuntimeProcess } from './runtime-process.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-runtime-process-'));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

it('keeps no log open of a runtime that cannot be started', async () => {
  // More than the kernel hands on to a program.
  vi.stubEnv('PODLOOP_TEST_LONG', 'x'.repeat(200_000));
  const runtime = new RuntimeProcess({
    ...{ podloopCommand: [process.execPath, 'podloop.js'], folder, clock: new FakeClock() },
    ...{ endsWith: { processId: process.pid }, flags: [] },
  });
  await expect(runtime.start()).rejects.toThrow('E2BIG');
  expect(runtime.isRunning).toBe(false);
  expect(await findOpenBelow(folder)).toEqual([]);
});

it('begins the log anew once it is too long, under whoever has it open, and keeps what it said until then', async () => {
  const runtime = new RuntimeProcess({
    ...{ podloopCommand: ['podloop'], folder, clock: new FakeClock() },
    ...{ endsWith: { processId: process.pid }, flags: [] },
  });
  const log = join(folder, 'runtime.log');
  await runtime.boundLog();
  await using writer = await open(log, 'a');
  await writer.write('x'.repeat(10 * 2 ** 20));
  await runtime.boundLog();
  expect((await stat(log)).size).toBe(10 * 2 ** 20);
  await writer.write('the last\n');
  await runtime.boundLog();
  await writer.write('the first\n');
  expect(await readFile(log, 'utf8')).toBe('the first\n');
  expect(await readFile(`${log}.1`, 'utf8')).toMatch(/^x+the last\n$/);
});
