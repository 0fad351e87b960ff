import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type AgentEnd } from '../../../node/agent.js';
import { type SyncLoopState } from '../../../node/pods/loop/sync-loop.js';
import { FakeClock } from '#testing/fake-clock.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { runForSystemd } from './run-for-systemd.js';

const READY = 'READY=1 STATUS=Keeps pods running';
const STOPPING = 'STOPPING=1 STATUS=Ending';
const TURNS = { lastActiveAgoMs: 0, errors: [] };
const LIMIT = { timeout: 30_000 };

describe('systemd is told', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'podloop-systemd-'));
    const program = join(folder, 'systemd-notify');
    await writeFile(program, `#!/bin/sh\necho "$*" >> ${join(folder, 'told')}\n`);
    await chmod(program, 0o755);
  });

  afterEach(async () => {
    await rm(folder, { recursive: true });
  });

  const told = async (): Promise<string[]> =>
    (await readFile(join(folder, 'told'), 'utf8').catch(() => '')).split('\n').slice(0, -1);

  /** An agent that gets on when the test says so. */
  function scene(loop: Pick<SyncLoopState, 'lastActiveAgoMs' | 'errors'> = TURNS) {
    const clock = new FakeClock();
    const ending = new AbortController();
    let begin = (): void => undefined;
    let settle = (_end: AgentEnd | Promise<never>): void => undefined;
    const end = new Promise<AgentEnd>((resolve) => (settle = resolve));
    const agent = {
      run: async (_signal: AbortSignal, onRunning: () => void = () => undefined): Promise<AgentEnd> => {
        begin = onRunning;
        return end;
      },
      loopState: () => loop as SyncLoopState,
    };
    const env = { NOTIFY_SOCKET: '/run/n', WATCHDOG_USEC: '20000000', PATH: folder };
    const running = runForSystemd(agent, { env, pid: 1, clock }, new LogRecorder(), ending.signal);
    const finish = async (): Promise<AgentEnd> => {
      settle({ failures: undefined, pods: 'left as they are' });
      return running;
    };
    return {
      clock,
      ending,
      running,
      begin: () => begin(),
      finish,
      fail: (error: Error) => settle(Promise.reject(error)),
    };
  }

  it('that the agent is ready when it runs, and from then on that it lives', async () => {
    const { begin, finish } = scene();
    begin();
    await expect.poll(told, LIMIT).toEqual([READY, 'WATCHDOG=1']);
    await finish();
    expect(await told()).toEqual([READY, 'WATCHDOG=1']);
  });

  it('nothing of an agent that never runs', async () => {
    const { running, fail } = scene();
    fail(new Error('no disk'));
    await expect(running).rejects.toThrow('no disk');
    expect(await told()).toEqual([]);
  });

  it('not that the agent is ready when it is told to end before', async () => {
    const { ending, finish } = scene();
    ending.abort();
    expect(await finish()).toMatchObject({ pods: 'left as they are' });
    expect(await told()).toEqual([STOPPING]);
  });

  it('that the agent is ready and lives while its runtime is not well', async () => {
    const { clock, begin, finish } = scene({
      lastActiveAgoMs: undefined,
      errors: ['container runtime is down'],
    });
    begin();
    await expect.poll(told, LIMIT).toHaveLength(2);
    await expect.poll(() => clock.pendingTimers, LIMIT).toBe(1);
    await clock.advance(10_000);
    await expect.poll(told, LIMIT).toEqual([READY, 'WATCHDOG=1', 'WATCHDOG=1']);
    await finish();
  });

  it('that the agent ends', async () => {
    const { ending, begin, finish } = scene();
    begin();
    await expect.poll(told, LIMIT).toHaveLength(2);
    ending.abort();
    await finish();
    expect(await told()).toEqual([READY, 'WATCHDOG=1', STOPPING]);
  });
});
