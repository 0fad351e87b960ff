import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { findSystemdService, SystemdNotifier } from './systemd-notifier.js';

describe('a service of systemd', () => {
  it('is a process with a notification socket', () => {
    expect(findSystemdService({}, 1)).toBeUndefined();
    expect(findSystemdService({ NOTIFY_SOCKET: '' }, 1)).toBeUndefined();
    expect(findSystemdService({ NOTIFY_SOCKET: '/run/n' }, 1)).toEqual({
      ...{ notifySocket: '/run/n', watchdogMs: undefined },
    });
  });

  it.each([
    ['is asked', { WATCHDOG_USEC: '30000000' }, 30_000],
    ['is asked by its pid', { WATCHDOG_USEC: '30000000', WATCHDOG_PID: '7' }, 30_000],
    ['is not the one who is asked', { WATCHDOG_USEC: '30000000', WATCHDOG_PID: '8' }, undefined],
    ['is asked nonsense', { WATCHDOG_USEC: 'soon' }, undefined],
  ])('that %s is watched accordingly', (_how, env, watchdogMs) => {
    expect(findSystemdService({ NOTIFY_SOCKET: '/run/n', ...env }, 7)?.watchdogMs).toBe(watchdogMs);
  });
});

describe('what systemd is notified of', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'podloop-systemd-'));
  });

  afterEach(async () => {
    await rm(folder, { recursive: true });
  });

  /** A program in place of systemd-notify that writes down its arguments. */
  async function scene() {
    const program = join(folder, 'notify');
    const told = join(folder, 'told');
    await writeFile(program, `#!/bin/sh\necho "$NOTIFY_SOCKET $*" >> ${told}\n`);
    await chmod(program, 0o755);
    const clock = new FakeClock();
    const log = new LogRecorder();
    const service = { notifySocket: '/run/n', watchdogMs: 20_000 };
    const path = process.env['PATH'] ?? '';
    const notifier = new SystemdNotifier({ service, path, program, clock, logger: log });
    const lines = async () => (await readFile(told, 'utf8').catch(() => '')).split('\n').slice(0, -1);
    return { notifier, clock, log, lines, program };
  }

  it('is that the agent is ready, and that it ends', async () => {
    const { notifier, lines } = await scene();
    await notifier.ready('Keeps pods running');
    await notifier.stopping();
    expect(await lines()).toEqual([
      '/run/n READY=1 STATUS=Keeps pods running',
      '/run/n STOPPING=1 STATUS=Ending',
    ]);
  });

  it('is a sign of life twice per watchdog time, and nothing while the agent is not alive', async () => {
    const { notifier, clock, log, lines } = await scene();
    const ending = new AbortController();
    let isAlive = true;
    const watching = notifier.watch(() => isAlive, ending.signal);
    await expect.poll(lines, { timeout: 30_000 }).toEqual(['/run/n WATCHDOG=1']);
    await expect.poll(() => clock.pendingTimers, { timeout: 30_000 }).toBe(1);
    await clock.advance(10_000);
    await expect.poll(lines, { timeout: 30_000 }).toHaveLength(2);
    await expect.poll(() => clock.pendingTimers, { timeout: 30_000 }).toBe(1);
    isAlive = false;
    await clock.advance(10_000);
    expect(log.lines.map(({ message }) => message)).toEqual([
      'The sync loop does not turn: systemd gets no sign of life',
    ]);
    ending.abort();
    await watching;
    expect(await lines()).toHaveLength(2);
  });

  it('is logged if it fails, without other effects', async () => {
    const { notifier, log, program } = await scene();
    await rm(program);
    await notifier.ready('Keeps pods running');
    expect(log.lines.map(({ message }) => message)).toEqual(['Cannot notify systemd']);
  });
});
