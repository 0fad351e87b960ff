import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { EmbeddedRuntimeKeeper } from './embedded-runtime-keeper.js';

let folder: string;
let clock: FakeClock;
let runtime: FakeProcess;
let keeper: EmbeddedRuntimeKeeper;
const ending = { controller: new AbortController() };

/** A runtime that starts at once, unless the test makes it fail. */
class FakeProcess {
  readonly endpoint = `unix://${join(folder, 'cri.sock')}`;
  isRunning = false;
  starts = 0;
  failures = 0;
  logLooks = 0;

  start(): Promise<void> {
    this.starts++;
    if (this.failures-- > 0) return Promise.reject(new Error('no memory'));
    this.isRunning = true;
    return Promise.resolve();
  }

  boundLog(): Promise<void> {
    this.logLooks++;
    return Promise.resolve();
  }
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-keeper-'));
  clock = new FakeClock();
  runtime = new FakeProcess();
  ending.controller = new AbortController();
  keeper = new EmbeddedRuntimeKeeper({ process: runtime, clock, logger: SILENT_LOGGER });
});
afterEach(async () => {
  ending.controller.abort();
  await rm(folder, { recursive: true, force: true });
});

async function listen(): Promise<Server> {
  const server = createServer((connection) => connection.destroy());
  await new Promise<void>((done) => server.listen(join(folder, 'cri.sock'), done));
  return server;
}

/** Lets time pass until the condition holds; real sockets answer between the steps. */
async function advanceUntil(condition: () => boolean): Promise<void> {
  while (!condition()) {
    await clock.advance(100);
    await new Promise((done) => setImmediate(done));
  }
}

it('starts a runtime where there is none', async () => {
  expect(await keeper.start(ending.controller.signal)).toBe('started');
  expect(runtime.starts).toBe(1);
});

it('takes up the one that an earlier agent has left, and starts another once that is gone', async () => {
  const server = await listen();
  expect(await keeper.start(ending.controller.signal)).toBe('found');
  const running = keeper.run(ending.controller.signal);
  await clock.advance(5_000);
  expect(runtime.starts).toBe(0);
  await new Promise((done) => server.close(done));
  await advanceUntil(() => runtime.starts === 1);
  ending.controller.abort();
  await running;
});

it('starts it again when it ends, and again when that fails', async () => {
  await keeper.start(ending.controller.signal);
  const running = keeper.run(ending.controller.signal);
  runtime.isRunning = false;
  runtime.failures = 2;
  await advanceUntil(() => runtime.isRunning);
  expect(runtime.starts).toBe(4);
  ending.controller.abort();
  await running;
});

it('keeps the log short of one that it has found as well', async () => {
  const server = await listen();
  await keeper.start(ending.controller.signal);
  const running = keeper.run(ending.controller.signal);
  await advanceUntil(() => runtime.logLooks === 1);
  const firstMs = clock.monotonicMs();
  await advanceUntil(() => runtime.logLooks === 2);
  expect(clock.monotonicMs() - firstMs).toBeGreaterThan(50_000);
  ending.controller.abort();
  await running;
  await new Promise((done) => server.close(done));
});
