import { mkdtemp, open, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { findOpenBelow } from '#support/find-open-below.js';
import { untilTrue } from '#support/until-true.js';
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

/** A runtime whose program runs and does not listen, and how its start ended. */
function startSilent(clock: FakeClock) {
  const runtime = new RuntimeProcess({
    ...{ podloopCommand: ['sh', '-c', 'exec sleep 1000'], folder, clock },
    ...{ endsWith: { processId: process.pid }, flags: [] },
  });
  const outcome = { message: undefined as string | undefined };
  runtime.start().then(
    () => (outcome.message = 'came up'),
    (error: unknown) => (outcome.message = String(error)),
  );
  /** Second by second, so that the runtime is asked in between. */
  const pass = async (seconds: number): Promise<void> => {
    for (let second = 0; second < seconds && outcome.message === undefined; second++) {
      await untilTrue(() => clock.pendingTimers > 0 || outcome.message !== undefined);
      await clock.advance(1_000);
    }
  };
  return { runtime, outcome, pass };
}

it('waits minutes for a runtime that runs and does not answer yet, and not for one that has ended', async () => {
  const { runtime, outcome, pass } = startSilent(new FakeClock());
  await pass(240);
  expect(outcome.message).toBeUndefined();
  expect(runtime.starts).toBe(1);
  await runtime.stop();
  await pass(2);
  expect(outcome.message).toContain('the embedded runtime did not come up: it ended');
});

it('gives up a runtime that does not answer for ever', async () => {
  const { runtime, outcome, pass } = startSilent(new FakeClock());
  await pass(330);
  expect(outcome.message).toContain('the embedded runtime did not come up: there is no socket');
  await runtime.stop();
});

it('starts the log again once it is too long, under whoever has it open, and keeps what it said until then', async () => {
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
