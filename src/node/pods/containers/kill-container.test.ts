import { beforeEach, describe, expect, it } from 'vitest';
import { type PodEvent } from '#kube/pod/pod-event-recorder.js';
import { FakeRuntimeChanges } from '#support/fakes/fake-runtime-changes.js';
import { FakeClock } from '#testing/index.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { ContainerKiller, type ContainerKill } from './kill-container.js';
import { LifecycleHooks } from '../hooks/lifecycle-hook.js';

const NEVER = new AbortController().signal;
const PRE_STOP = { exec: { command: ['bye'] } };
let clock: FakeClock;
let runtime: FakeRuntimeChanges;
let events: PodEvent[];
let logger: LogRecorder;
let killer: ContainerKiller;
/** Stops that were sent, as `<id> <grace>`. */
let stops: string[];
beforeEach(() => {
  clock = new FakeClock();
  runtime = new FakeRuntimeChanges({ clock });
  events = [];
  stops = [];
  logger = new LogRecorder();
  killer = new ContainerKiller({
    changes: {
      stopContainer: (id, grace) => {
        stops.push(`${id} ${grace}`);
        return Promise.resolve();
      },
    },
    hooks: new LifecycleHooks({ changes: runtime, clock, findHost: () => Promise.resolve('') }),
    events: { record: (_pod, event) => void events.push(event) },
    clock,
    logger,
    formatId: (id) => `containerd://${id}`,
  });
});

const kill = (graceSeconds: number, more: Partial<ContainerKill> = {}, signal = NEVER): Promise<void> =>
  killer.kill(
    {
      pod: { uid: 'u1', namespace: 'default', name: 'web' },
      ...{ containerId: 'c1', containerName: 'app', graceSeconds, host: '10.0.0.1' },
      ...more,
    },
    signal,
  );
const hooksRun = (): number => runtime.calls.filter((call) => call.startsWith('execSync')).length;

describe('the end of a container', () => {
  it('is reported, and given the whole grace period', async () => {
    await kill(30);
    expect(stops).toEqual(['c1 30']);
    expect(events).toEqual([
      { type: 'Normal', reason: 'Killing', message: 'Stopping container app', container: 'app' },
    ]);
    expect(
      logger.lines.find(({ message }) => message === 'Killing container with a grace period')?.fields,
    ).toEqual({
      ...{
        pod: { uid: 'u1', namespace: 'default', name: 'web' },
        podUID: 'u1',
        containerName: 'app',
        containerID: 'containerd://c1',
        gracePeriod: 30,
      },
    });
  });

  it('leaves a container two seconds at least', async () => {
    await kill(0);
    await kill(1);
    expect(stops).toEqual(['c1 2', 'c1 2']);
  });

  it('rejects as the stop does', async () => {
    const failing = new ContainerKiller({
      changes: { stopContainer: () => Promise.reject(new Error('stuck')) },
      hooks: new LifecycleHooks({ changes: runtime, clock, findHost: () => Promise.resolve('') }),
      events: { record: () => undefined },
      ...{ clock, logger, formatId: (id) => id },
    });
    const request = { pod: { uid: 'u', namespace: 'n', name: 'p' }, containerId: 'c', containerName: 'a' };
    await expect(failing.kill({ ...request, graceSeconds: 1, host: '' }, NEVER)).rejects.toThrow('stuck');
    expect(logger.complaints[0]?.message).toBe('Container termination failed with gracePeriod');
  });
});

describe('a pause as a preStop hook', () => {
  it.each([
    [20, 30, 20],
    [1, 30, 1],
    [40, 10, 10],
  ])(
    'of %i s in a grace period of %i s lasts %i s, although its container ends before',
    async (seconds, graceSeconds, expectedSeconds) => {
      const startMs = clock.monotonicMs();
      let endedMs: number | undefined;
      void kill(graceSeconds, { preStop: { sleep: { seconds } } }).then(
        () => (endedMs = clock.monotonicMs() - startMs),
      );
      // What becomes of the container is not asked about: the stop that follows finds it ended.
      while (endedMs === undefined) await clock.advance(500);
      expect(endedMs).toBe(expectedSeconds * 1_000);
      expect(stops).toHaveLength(1);
    },
  );
});

describe('a preStop hook', () => {
  it('counts into the grace period', async () => {
    runtime.gate('execSync').delay(7_000);
    const killed = kill(30, { preStop: PRE_STOP });
    await clock.advance(7_000);
    await killed;
    expect(stops).toEqual(['c1 23']);
    expect(runtime.calls).toEqual(['execSync c1 bye 30']);
  });

  it('that takes all of it leaves the container two seconds', async () => {
    runtime.gate('execSync').hang();
    const killed = kill(10, { preStop: PRE_STOP });
    await clock.advance(10_000);
    await killed;
    expect(stops).toEqual(['c1 2']);
    expect(logger.lines.map(({ message }) => message)).toContain(
      'PreStop hook not completed in grace period',
    );
    expect(clock.pendingTimers).toBe(0);
  });

  it('that fails is reported without its output, and holds up nothing', async () => {
    runtime.gate('execSync').fail(new Error('secret'));
    await kill(30, { preStop: PRE_STOP });
    expect(events.at(-1)).toEqual({
      ...{ type: 'Warning', reason: 'FailedPreStopHook', message: 'PreStopHook failed', container: 'app' },
    });
    expect(stops).toEqual(['c1 30']);
  });

  it('is left out without any time', async () => {
    await kill(0, { preStop: PRE_STOP });
    expect(hooksRun()).toBe(0);
  });

  it('runs once although the grace period shrinks meanwhile', async () => {
    const release = runtime.gate('execSync').hang();
    const stop = new AbortController();
    const first = kill(60, { preStop: PRE_STOP }, stop.signal);
    await clock.advance(1_000);
    stop.abort(new Error('shorter'));
    await expect(first).rejects.toThrow('shorter');
    const second = kill(5, { preStop: PRE_STOP });
    await clock.advance(3_000);
    release();
    await second;
    expect(hooksRun()).toBe(1);
    expect(stops).toEqual(['c1 2']);
    expect(events.filter(({ reason }) => reason === 'Killing')).toHaveLength(1);
  });

  it('runs again for a container that is killed again after its end', async () => {
    await kill(5, { preStop: PRE_STOP });
    await kill(5, { preStop: PRE_STOP });
    expect(hooksRun()).toBe(2);
  });
});

describe('a container that has to wait for others', () => {
  it('waits, within the grace period', async () => {
    let end: () => void = () => undefined;
    const turn = new Promise<void>((resolve) => (end = resolve));
    const killed = kill(30, { turn });
    await clock.advance(12_000);
    expect(stops).toEqual([]);
    end();
    await killed;
    expect(stops).toEqual(['c1 18']);
  });

  it('is stopped when the time is up', async () => {
    const killed = kill(30, { turn: new Promise(() => undefined) });
    await clock.advance(30_000);
    await killed;
    expect(stops).toEqual(['c1 2']);
  });
});
