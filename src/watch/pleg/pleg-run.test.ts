import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { OLDEST_STAMP } from '#base/time/clock.js';
import { type CachedPod } from './pod-cache.js';
import { drain, podOf, setUpPleg, takeAll } from '#support/harness/pleg-harness.js';

function watch(wait: Promise<CachedPod>): { cached: CachedPod | undefined } {
  const seen: { cached: CachedPod | undefined } = { cached: undefined };
  void wait.then((cached) => (seen.cached = cached));
  return seen;
}

describe('a running generator', () => {
  it('relists at once, and then one period after the end of the relist before', async () => {
    const { clock, runtime, start } = setUpPleg({ relistPeriodMs: 2_000 });
    runtime.delayList(500);
    const stop = start();
    const lists: number[] = [];
    for (const ms of [2_499, 1, 2_499, 1]) {
      await clock.advance(ms);
      lists.push(runtime.listCalls);
    }
    expect(lists).toEqual([1, 2, 2, 3]);
    await stop();
  });

  it('answers requests for one pod at once and for that pod only, and unchanged pods without another status', async () => {
    const { clock, runtime, pleg, start } = setUpPleg({ relistPeriodMs: 2_000 });
    runtime.setPods([podOf('pod1', { c1: 'running' }), podOf('pod2', { c2: 'running' })]);
    const stop = start();
    await clock.advance(100);
    const first = pleg.cache.get('pod1').status;
    const asked = clock.stamp();
    // Without a wait of their own, as that would request a list.
    pleg.requestRelist('pod1');
    await clock.settle();
    expect(pleg.cache.get('pod1').stamp).toBeGreaterThan(asked);
    expect(pleg.cache.get('pod2').stamp).toBeLessThan(asked);
    expect([runtime.findCalls, runtime.listCalls, runtime.statusCalls()]).toEqual([1, 1, 2]);
    await clock.advance(2_000);
    expect(pleg.cache.get('pod2').stamp).toBeGreaterThan(asked);
    expect(pleg.cache.get('pod1').status).toBe(first);
    expect([runtime.findCalls, runtime.listCalls, runtime.statusCalls()]).toEqual([1, 2, 2]);
    await stop();
  });

  it('relists all pods first if both wait, which answers the request without a call of its own', async () => {
    const { clock, runtime, pleg, start } = setUpPleg();
    runtime.setPods([podOf('pod1', { c1: 'running' }), podOf('pod2', { c2: 'running' })]);
    const stop = start();
    await clock.advance(500);
    const release = runtime.hangList();
    const held = pleg.relist();
    await clock.settle();
    // Both wait behind the one that has the lock; the relist came last.
    pleg.requestRelist('pod2');
    await clock.settle();
    const waiting = pleg.relist();
    const { listCalls } = runtime;
    release();
    await Promise.all([held, waiting]);
    await clock.settle();
    expect([runtime.listCalls - listCalls, runtime.findCalls]).toEqual([1, 0]);
    expect(pleg.state().requests.queued).toBe(0);
    await stop();
  });

  it('fetches again at the next relist what was to be re-inspected, with a newer stamp', async () => {
    const { clock, runtime, pleg, events, start } = setUpPleg({ relistPeriodMs: 2_000 });
    runtime.setPods([podOf('pod1', { c1: 'running' })]);
    const stop = start();
    await clock.advance(100);
    drain(events);
    const before = pleg.cache.get('pod1');
    pleg.requestReinspect('pod1');
    pleg.requestRelist('pod1');
    await clock.settle();
    expect(takeAll(events)).toMatchObject([{ type: 'PodSync', folded: 0, trigger: 'request' }]);
    expect(pleg.cache.get('pod1').status).not.toBe(before.status);
    expect(pleg.cache.get('pod1').stamp).toBeGreaterThan(before.stamp);
    await stop();
  });

  it('relists all pods rather than listing many one by one', async () => {
    const { clock, runtime, pleg, start } = setUpPleg({ relistPeriodMs: 60_000 });
    runtime.setPods(Array.from({ length: 50 }, (_, i) => podOf(`p${i}`, { [`c${i}`]: 'running' })));
    const stop = start();
    await clock.settle();
    for (let i = 0; i < 50; i++) pleg.requestRelist(`p${i}`);
    await clock.settle();
    expect([runtime.listCalls, runtime.findCalls]).toEqual([2, 0]);
    expect(pleg.state().requests.queued).toBe(0);
    await stop();
  });

  it('ends waits for pods that come, change, vanish, and never existed, without waiting for the period', async () => {
    const { clock, runtime, pleg, start } = setUpPleg({ relistPeriodMs: 60_000 });
    runtime.setPods([podOf('goes', { c1: 'running' }), podOf('changes', { c2: 'running' })]);
    const stop = start();
    await clock.settle();
    runtime.removePod('goes');
    runtime.setContainer('changes', 'c2', 'exited');
    runtime.setPod(podOf('comes', { c3: 'running' }));
    const stamp = clock.stamp();
    const uids = ['goes', 'changes', 'comes', 'never'];
    const waits = uids.map((uid) => watch(pleg.cache.getNewerThan(uid, stamp)));
    await clock.settle();
    expect(waits.map(({ cached }) => cached?.status.containers[0]?.state)).toEqual([
      undefined,
      'exited',
      'running',
      undefined,
    ]);
    expect(waits.every(({ cached }) => cached !== undefined && cached.stamp > stamp)).toBe(true);
    expect([pleg.cache.waiting, runtime.listCalls]).toEqual([0, 1]);
    await stop();
  });

  it('cannot be run twice at once, but again after it has ended', async () => {
    const { clock, runtime, pleg, events, start } = setUpPleg();
    runtime.setPods([podOf('a', { c1: 'running' })]);
    const stop = start();
    await expect(pleg.run(new AbortController().signal)).rejects.toThrow('running already');
    await clock.settle();
    await stop();
    runtime.setContainer('a', 'c1', 'exited');
    await clock.advance(10_000);
    expect(drain(events)).toEqual(['ContainerStarted a c1']);
    const stopAgain = start();
    await clock.settle();
    expect(drain(events)).toEqual(['ContainerDied a c1']);
    await stopAgain();
    expect(clock.pendingTimers).toBe(0);
  });

  it('ends at once when its signal has already aborted', async () => {
    const { clock, runtime, pleg } = setUpPleg({ mode: 'auto' });
    await pleg.run(AbortSignal.abort());
    expect([runtime.listCalls, clock.pendingTimers]).toEqual([0, 0]);
  });

  it('leaves no listener on a signal that outlives many calls', async () => {
    const { clock, runtime, pleg } = setUpPleg({ mode: 'auto' });
    runtime.setPods([podOf('a', { c1: 'running' })]);
    const stopping = new AbortController();
    const running = pleg.run(stopping.signal);
    await clock.advance(10_500);
    const listeners = getEventListeners(stopping.signal, 'abort').length;
    for (let i = 0; i < 20; i++) {
      pleg.requestRelist('a');
      await clock.advance(1_000);
    }
    expect(getEventListeners(stopping.signal, 'abort').length).toBe(listeners);
    stopping.abort();
    await running;
    expect(getEventListeners(stopping.signal, 'abort')).toEqual([]);
  });

  it.each(['listPods', 'findPod', 'getPodStatus', 'everything'] as const)(
    'ends although %s hangs and takes no notice of signals, and leaves no timer',
    async (hanging) => {
      const pod = podOf('a', { c1: 'running' });
      const never = async (): Promise<never> => new Promise(() => undefined);
      const hangs = (operation: string): boolean => hanging === operation || hanging === 'everything';
      const { clock, pleg, start } = setUpPleg({
        mode: 'evented',
        runtime: {
          listPods: async () => (hangs('listPods') ? never() : [pod]),
          findPod: async () => (hangs('findPod') ? never() : pod),
          getPodStatus: async () => never(),
          watchEvents: never,
        },
      });
      const stop = start();
      await clock.advance(500);
      pleg.requestRelist('a');
      await clock.advance(5_000);
      await stop();
      expect(clock.pendingTimers).toBe(0);
    },
  );

  it('that ends during an inspection does not count it, and inspects at the next list', async () => {
    const { clock, runtime, pleg, events, start } = setUpPleg();
    runtime.setPods([podOf('a', { c1: 'running' })]);
    await pleg.relist();
    drain(events);
    pleg.requestReinspect('a');
    const release = runtime.hangStatus('a');
    const stop = start();
    await clock.advance(100);
    await stop();
    expect(clock.pendingTimers).toBe(0);
    expect(pleg.cache.get('a').error).toBeUndefined();
    expect(pleg.health().stuckPods).toEqual([]);
    release();
    await pleg.relist();
    expect(drain(events)).toEqual(['PodSync a']);
  });
});

describe('a list that fails while it runs', () => {
  it('is retried each period, also in a mode with a long one; requests do not hurry it', async () => {
    const { clock, runtime, pleg, start } = setUpPleg({ relistPeriodMs: 1_000 });
    runtime.setPods([podOf('a', { c1: 'running' })]);
    const stop = start();
    await clock.settle();
    runtime.failList(new Error('connection refused'));
    const before = runtime.listCalls + runtime.findCalls;
    pleg.requestRelist('a');
    await clock.advance(10_000);
    // Ten by the period, about as many for the request that stays.
    expect(runtime.listCalls + runtime.findCalls - before).toBeLessThan(25);
    runtime.failList(undefined);
    await clock.advance(1_000);
    expect(pleg.state().requests.queued).toBe(0);
    await stop();
  });

  it('may also throw synchronously', async () => {
    const throwing = (): never => {
      throw new Error('synchronously');
    };
    const { clock, pleg, start } = setUpPleg({
      runtime: { listPods: throwing, findPod: throwing, getPodStatus: throwing, watchEvents: throwing },
      mode: 'auto',
    });
    await expect(pleg.relist()).rejects.toThrow('synchronously');
    const stop = start();
    pleg.requestRelist('a');
    await clock.advance(5_000);
    expect(pleg.health()).toMatchObject({
      healthy: false,
      message: 'pleg has yet to be successful',
      reason: { kind: 'neverSucceeded', error: 'synchronously' },
    });
    await stop();
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('one pod that cannot be listed', () => {
  it('leads to a list of all pods at once, which answers it and everybody behind it', async () => {
    const { clock, runtime, pleg, events, start } = setUpPleg({ relistPeriodMs: 60_000 });
    runtime.setPods(['a', 'b', 'c'].map((uid) => podOf(uid, { [`c-${uid}`]: 'running' })));
    const stop = start();
    await clock.settle();
    drain(events);
    runtime.hangFind('a');
    for (const uid of ['a', 'b', 'c']) {
      runtime.setContainer(uid, `c-${uid}`, 'exited');
      pleg.requestRelist(uid);
    }
    await clock.advance(1_000);
    const told = takeAll(events);
    expect(told.map((event) => ('pod' in event ? event.pod.uid : '')).sort()).toEqual(['a', 'b', 'c']);
    expect(told.every(({ trigger }) => trigger === 'request')).toBe(true);
    expect(runtime.listCalls).toBe(2);
    await stop();
  });
});

describe('the first relist', () => {
  it('marks every event as initial, also of pods that were requested before, and only the first relist does', async () => {
    const { clock, runtime, pleg, events, start } = setUpPleg();
    runtime.setPods([podOf('a', { c1: 'running' }), podOf('b', { c2: 'exited' })]);
    runtime.failStatus('b', new Error('not yet'));
    pleg.requestRelist('a');
    void pleg.cache.getNewerThan('b', clock.stamp()).catch(() => undefined);
    const stop = start();
    await clock.settle();
    runtime.failStatus('b', undefined);
    await clock.advance(5_000);
    expect(takeAll(events).map(({ trigger }) => trigger)).toEqual(['initial', 'initial']);
    runtime.setContainer('a', 'c1', 'exited');
    await clock.advance(1_000);
    expect(takeAll(events).map(({ trigger }) => trigger)).toEqual(['relist']);
    await stop();
  });

  it('inspects first what has ended without a successor, and last what has only a past', async () => {
    const { clock, runtime, pleg, events } = setUpPleg({ inspectConcurrency: 1 });
    const past = podOf('past', { old: 'exited', new: 'running' });
    const [old, newer] = past.containers.map((each, at) => ({ ...each, name: 'c', createdAtNs: BigInt(at) }));
    runtime.setPods([
      podOf('a', { c1: 'running' }),
      podOf('b', { c2: 'running' }),
      { ...past, containers: [old!, newer!] },
      podOf('died', { c4: 'exited' }),
    ]);
    runtime.delayStatus(10);
    const looked = pleg.relist();
    await clock.advance(100);
    await looked;
    const uids = takeAll(events).map((event) => ('pod' in event ? event.pod.uid : ''));
    // The first has its place before anything else is known.
    expect([...new Set(uids)]).toEqual(['a', 'died', 'b', 'past']);
  });

  it('is not followed by another for waiters whose status is on its way', async () => {
    const { clock, runtime, pleg, start } = setUpPleg();
    const answer = runtime.hangStatus('a');
    runtime.setPods([podOf('a', { c1: 'running' })]);
    const stop = start();
    await clock.settle();
    const asked = pleg.cache.getNewerThan('a', OLDEST_STAMP);
    await clock.settle();
    expect(pleg.state()).toMatchObject({ relists: 1, podRelists: 0 });
    answer();
    expect((await asked).status.containers).toHaveLength(1);
    const hanging = runtime.hangStatus('a');
    runtime.setContainer('a', 'c1', 'exited');
    await clock.advance(1_000);
    // The status on its way is older than this stamp.
    const newer = pleg.cache.getNewerThan('a', clock.stamp());
    await clock.settle();
    expect(pleg.state()).toMatchObject({ relists: 2, podRelists: 1 });
    hanging();
    expect((await newer).status.containers).toHaveLength(1);
    await stop();
  });

  it('is reported to listeners of health, and so is each later one that succeeds', async () => {
    const { clock, runtime, pleg, start } = setUpPleg();
    const healthy: boolean[] = [];
    const stopTelling = pleg.onLook(() => healthy.push(pleg.health().healthy));
    runtime.failList(new Error('not yet'));
    const stop = start();
    await clock.advance(2_500);
    expect(healthy).toEqual([]);
    runtime.failList(undefined);
    await clock.advance(2_000);
    expect(healthy).toEqual([true, true]);
    stopTelling();
    await clock.advance(1_000);
    expect(healthy).toHaveLength(2);
    await stop();
  });

  it('shows pods before their status is available', async () => {
    const { clock, runtime, pleg } = setUpPleg();
    const answer = runtime.hangStatus('a');
    runtime.setPods([podOf('a', { c1: 'running' })]);
    const looked = pleg.relist();
    await clock.settle();
    expect(pleg.findObserved('a')?.containers.map(({ state }) => state)).toEqual(['running']);
    expect(pleg.findObserved('b')).toBeUndefined();
    expect(pleg.cache.get('a').status.containers).toEqual([]);
    answer();
    await looked;
  });
});
