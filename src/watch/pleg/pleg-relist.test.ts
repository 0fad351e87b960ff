import { describe, expect, it } from 'vitest';
import { type ObservedPod, type ObservedState } from '../observed/runtime.js';
import { type FakeRuntime } from '#testing/fake-runtime.js';
import { drain, lineOf, podOf, setUpPleg, takeAll } from '#support/harness/pleg-harness.js';

type States = Readonly<Record<string, ObservedState>>;

describe.each([
  ['containers', (uid: string, states: States): ObservedPod => podOf(uid, states), 'container'],
  ['sandboxes', (uid: string, states: States): ObservedPod => podOf(uid, {}, states), 'sandbox'],
] as const)('relists over %s', (_, pod, kind) => {
  const first = [pod('1234', { c1: 'exited', c2: 'running', c3: 'unknown' }), pod('4567', { c1: 'exited' })];
  const second = [pod('1234', { c2: 'exited', c3: 'running' }), pod('4567', { c4: 'running' })];
  const firstEvents = ['ContainerDied 1234 c1', 'ContainerDied 4567 c1', 'ContainerStarted 1234 c2'];
  const secondEvents = [
    'ContainerDied 1234 c2',
    'ContainerRemoved 1234 c1',
    'ContainerRemoved 4567 c1',
    'ContainerStarted 1234 c3',
    'ContainerStarted 4567 c4',
  ];

  it('publish what happened, and nothing twice', async () => {
    const { runtime, pleg, events } = setUpPleg();
    runtime.setPods(first);
    await pleg.relist();
    const told = takeAll(events);
    expect(told.map((event) => 'kind' in event && event.kind)).toEqual([kind, kind, kind]);
    expect(told.map(({ trigger }) => trigger)).toEqual(['initial', 'initial', 'initial']);
    await pleg.relist();
    expect(drain(events)).toEqual([]);
    // New objects with the same content: nothing is published.
    runtime.setPods(first.map((one) => ({ ...one })));
    await pleg.relist();
    expect(drain(events)).toEqual([]);
    expect(runtime.statusCalls()).toBe(2);
    runtime.setPods(second);
    await pleg.relist();
    const later = takeAll(events);
    expect(new Set(later.map(({ trigger }) => trigger))).toEqual(new Set(['relist']));
    expect(later).toHaveLength(5);
  });

  it('into a full queue fold what the kubelet drops', async () => {
    const { runtime, pleg, events } = setUpPleg({ queueCapacity: 4 });
    runtime.setPods(first);
    await pleg.relist();
    expect(drain(events)).toEqual(firstEvents);
    runtime.setPods(second);
    await pleg.relist();
    const lines = drain(events);
    const plain = lines.filter((line) => !line.startsWith('PodSync'));
    expect(plain).toHaveLength(4);
    for (const line of plain) expect(secondEvents).toContain(line);
    // The fifth is not lost: its pod gets a PodSync.
    const missing = secondEvents.find((line) => !plain.includes(line))!;
    expect(lines).toContain(`PodSync ${missing.split(' ')[1]!}`);
  });

  it.each([1, 3])('find deaths of what vanished, after %d relists', async (relists) => {
    const { runtime, pleg, events } = setUpPleg();
    runtime.setPods([pod('a', { c1: 'running', c2: 'running', c3: 'exited' })]);
    for (let i = 0; i < relists; i++) await pleg.relist();
    drain(events);
    runtime.setPods([pod('a', { c1: 'running' })]);
    await pleg.relist();
    expect(drain(events)).toEqual(['ContainerDied a c2', 'ContainerRemoved a c2', 'ContainerRemoved a c3']);
  });

  it.each([1, 3])('find deaths in a pod that vanished, after %d relists', async (relists) => {
    const { runtime, pleg, events } = setUpPleg();
    runtime.setPods([pod('a', { c2: 'running' })]);
    for (let i = 0; i < relists; i++) await pleg.relist();
    drain(events);
    runtime.setPods([]);
    await pleg.relist();
    expect(drain(events)).toEqual(['ContainerDied a c2', 'ContainerRemoved a c2']);
    expect(pleg.state()).toMatchObject({ pods: 0, inspections: { due: 0 } });
  });
});

describe('what is gone after its exit was published', () => {
  it('is published, and removed from the cache, without a call', async () => {
    const { clock, runtime, pleg, events } = setUpPleg();
    runtime.setPods([podOf('a', { c1: 'exited', c2: 'exited', c3: 'running' }, { s1: 'running' })]);
    await pleg.relist();
    const before = pleg.cache.get('a').status;
    drain(events);
    runtime.setPods([podOf('a', { c2: 'exited', c3: 'running' }, { s1: 'running' })]);
    const asked = clock.stamp();
    await pleg.relist();
    expect(drain(events)).toEqual(['ContainerRemoved a c1']);
    expect(runtime.statusCalls()).toBe(1);
    const { status, stamp, error } = pleg.cache.get('a');
    expect(status).toEqual({ ...before, containers: before.containers.filter(({ id }) => id !== 'c1') });
    expect(stamp).toBeGreaterThan(asked);
    expect(error).toBeUndefined();
    await pleg.relist();
    expect(drain(events)).toEqual([]);
    expect(pleg.state()).toMatchObject({ inspections: { due: 0 } });
  });

  it('is inspected all the same if more has happened, or is requested', async () => {
    const { runtime, pleg, events } = setUpPleg();
    const all = { c1: 'exited', c2: 'exited', c3: 'running', c4: 'running' } as const;
    runtime.setPods([podOf('a', all)]);
    await pleg.relist();
    drain(events);
    runtime.setPods([podOf('a', { c2: 'exited', c3: 'exited', c4: 'running' })]);
    await pleg.relist();
    expect(drain(events)).toEqual(['ContainerDied a c3', 'ContainerRemoved a c1']);
    expect(runtime.statusCalls()).toBe(2);
    // Its exit was not published.
    runtime.setPods([podOf('a', { c2: 'exited', c3: 'exited' })]);
    await pleg.relist();
    expect(drain(events)).toEqual(['ContainerDied a c4', 'ContainerRemoved a c4']);
    expect(runtime.statusCalls()).toBe(3);
    pleg.requestReinspect('a');
    runtime.setPods([podOf('a', { c3: 'exited' })]);
    await pleg.relist();
    expect(drain(events)).toEqual(['ContainerRemoved a c2']);
    expect(runtime.statusCalls()).toBe(4);
  });

  it('publishes nothing for a pod that could not be inspected before', async () => {
    const { clock, runtime, pleg, events } = setUpPleg();
    runtime.setPods([podOf('a', { c1: 'exited', c2: 'running' })]);
    await pleg.relist();
    drain(events);
    runtime.setPods([podOf('a', { c1: 'exited', c2: 'exited' })]);
    runtime.failStatus('a', new Error('not now'));
    await pleg.relist();
    runtime.setPods([podOf('a', { c2: 'exited' })]);
    await pleg.relist();
    expect(drain(events)).toEqual([]);
    expect(pleg.cache.get('a').error?.message).toBe('not now');
    runtime.failStatus('a', undefined);
    await clock.advance(60_000);
    await pleg.relist();
    expect(drain(events)).toEqual(['ContainerDied a c2', 'ContainerRemoved a c1']);
  });
});

describe('the cache', () => {
  it('contains nothing of a pod that is gone, and returns an empty status without an error', async () => {
    const { runtime, pleg } = setUpPleg();
    runtime.setPods([podOf('a', { c1: 'running' })]);
    await pleg.relist();
    expect(pleg.cache.get('a').status.containers).toHaveLength(1);
    runtime.setPods([]);
    await pleg.relist();
    expect(pleg.cache.get('a')).toMatchObject({ error: undefined, status: { uid: 'a', containers: [] } });
    expect(pleg.cache.size).toBe(0);
  });

  it('is as new as the list, even for pods in which nothing changed', async () => {
    const { clock, runtime, pleg } = setUpPleg();
    runtime.setPods([podOf('a', { c1: 'running' })]);
    await pleg.relist();
    const { status } = pleg.cache.get('a');
    const between = clock.stamp();
    expect(pleg.cache.get('a').stamp).toBeLessThan(between);
    await pleg.relist();
    expect(pleg.cache.get('a').stamp).toBeGreaterThan(between);
    expect(pleg.cache.get('a').status).toBe(status);
    expect(runtime.statusCalls('a')).toBe(1);
  });

  it('is not advanced by a list that fails', async () => {
    const { clock, runtime, pleg } = setUpPleg();
    runtime.setPods([podOf('a', { c1: 'running' })]);
    await pleg.relist();
    const { stamp } = pleg.cache.get('a');
    const { lastSeenAtMs } = pleg.health();
    await clock.advance(1_000);
    runtime.failList(new Error('connection refused'));
    await expect(pleg.relist()).rejects.toThrow('connection refused');
    expect(pleg.cache.get('a').stamp).toBe(stamp);
    expect(pleg.health().lastSeenAtMs).toBe(lastSeenAtMs);
    expect(pleg.state().relists).toBe(1);
  });

  it.each([[['192.168.1.5']], [['192.168.1.5/24', '2000::']]])(
    'keeps the addresses %j of a pod whose sandboxes have ended',
    async (ips) => {
      const { runtime, pleg, events } = setUpPleg();
      runtime.setPods([podOf('a', { c1: 'running' }, { box: 'running' })]);
      runtime.setSandbox('a', 'running', { ips });
      await pleg.relist();
      expect(pleg.cache.get('a').status.ips).toEqual(ips);
      drain(events);
      runtime.setContainer('a', 'c1', 'exited');
      runtime.setSandbox('a', 'exited', { ips: [] });
      await pleg.relist();
      expect(drain(events)).toEqual(['ContainerDied a box', 'ContainerDied a c1']);
      expect(pleg.cache.get('a').status.ips).toEqual(ips);
    },
  );

  it('accepts that a running pod has no address, and stores none for later', async () => {
    const { runtime, pleg } = setUpPleg();
    runtime.setPods([podOf('a', { c1: 'running' }, { box: 'running' })]);
    await pleg.relist();
    runtime.setSandbox('a', 'running', { ips: [] });
    pleg.requestReinspect('a');
    await pleg.relist();
    expect(pleg.cache.get('a').status.ips).toEqual([]);
    runtime.setSandbox('a', 'exited', { ips: [] });
    await pleg.relist();
    expect(pleg.cache.get('a').status.ips).toEqual([]);
  });
});

describe('counts', () => {
  it('are one running pod however many of its sandboxes run, and containers by state', async () => {
    const { runtime, pleg } = setUpPleg();
    runtime.setPods([
      podOf(
        'a',
        { c1: 'running', c2: 'unknown', c3: 'unknown' },
        { s1: 'running', s2: 'running', s3: 'unknown' },
      ),
      podOf('b', { c4: 'exited' }, { s4: 'running', s5: 'exited' }),
    ]);
    await pleg.relist();
    expect(pleg.state()).toMatchObject({
      pods: 2,
      runningPods: 2,
      containersByState: { created: 0, running: 1, exited: 1, unknown: 2 },
    });
  });
});

describe('the content of events', () => {
  it('is the exit of a container that still exists', async () => {
    const { runtime, pleg, events } = setUpPleg();
    runtime.setPods([podOf('a', { c1: 'running' })]);
    await pleg.relist();
    drain(events);
    runtime.setContainer('a', 'c1', 'exited', { exitCode: 3, reason: 'Error' });
    await pleg.relist();
    expect(takeAll(events)).toMatchObject([
      { type: 'ContainerDied', containerId: 'c1', exitCode: 3, reason: 'Error', owner: 'kubernetes' },
    ]);
  });

  it.each([
    [
      'container',
      ['ContainerDied a c1', 'ContainerRemoved a c1'],
      (h: FakeRuntime) => h.removeContainer('a', 'c1'),
    ],
    [
      'pod',
      ['ContainerDied a c1', 'ContainerRemoved a c1', 'ContainerDied a c2', 'ContainerRemoved a c2'],
      (h: FakeRuntime) => h.removePod('a'),
    ],
  ])(
    'is the exit, too, of one that only an earlier status showed, when its %s is gone',
    async (_, lines, remove) => {
      const { runtime, pleg, events } = setUpPleg(
        {},
        {
          // It ends between the list, in which it ran, and the status.
          onCall: ({ operation }) => {
            if (operation === 'getPodStatus') runtime.setContainer('a', 'c1', 'exited', { exitCode: 5 });
          },
        },
      );
      runtime.setPods([podOf('a', { c1: 'running', c2: 'running' })]);
      await pleg.relist();
      expect(drain(events)).toEqual(['ContainerStarted a c1', 'ContainerStarted a c2']);
      remove(runtime);
      await pleg.relist();
      const told = takeAll(events);
      expect(told.map(lineOf)).toEqual(lines);
      expect(told[0]).toMatchObject({ containerId: 'c1', exitCode: 5 });
    },
  );
});
