import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { type ObservedPod } from '../observed/runtime.js';
import { drain, podOf, setUpPleg, takeAll } from '#support/harness/pleg-harness.js';
import { type CachedPod } from './pod-cache.js';

function watch(wait: Promise<CachedPod>): { cached: CachedPod | undefined } {
  const seen: { cached: CachedPod | undefined } = { cached: undefined };
  void wait.then((cached) => (seen.cached = cached));
  return seen;
}

describe('races of relists by hand', () => {
  it('two at once list one after the other, share inspections, and publish everything once', async () => {
    const { clock, runtime, pleg, events } = setUpPleg();
    runtime.setPods([podOf('a', { c1: 'running' })]);
    runtime.delayList(100);
    runtime.delayStatus(500);
    const both = Promise.all([pleg.relist(), pleg.relist()]);
    await clock.advance(1_000);
    await both;
    expect(drain(events)).toEqual(['ContainerStarted a c1']);
    expect([runtime.listCalls, runtime.statusCalls()]).toEqual([2, 1]);
  });

  it('one that is aborted half-way deletes nothing, blames no pod and does not affect the others', async () => {
    const { clock, runtime, pleg, events } = setUpPleg();
    runtime.setPods([podOf('a', { c1: 'running' })]);
    await pleg.relist();
    drain(events);
    const reason = new Error('enough');
    for (const hang of [() => runtime.hangList(), () => runtime.hangStatus('a')]) {
      const release = hang();
      pleg.requestReinspect('a');
      const stopping = new AbortController();
      const aborted = pleg.relist(stopping.signal);
      const waiting = pleg.relist();
      await clock.settle();
      stopping.abort(reason);
      await expect(aborted).rejects.toBe(reason);
      release();
      await waiting;
      await clock.settle();
      expect(drain(events)).toEqual(['PodSync a']);
      expect(pleg.state().pods).toBe(1);
      expect(getEventListeners(stopping.signal, 'abort')).toEqual([]);
    }
    expect(clock.pendingTimers).toBe(0);
  });

  it('a pod that vanishes during its inspection is published as gone at once, and its late status is dropped', async () => {
    const { clock, runtime, pleg, events } = setUpPleg();
    runtime.setPods([podOf('a', { c1: 'running' }), podOf('b', { c2: 'running' })]);
    const release = runtime.hangStatus('a');
    const first = pleg.relist();
    await clock.settle();
    runtime.removePod('a');
    await pleg.relist();
    expect(drain(events)).toEqual(['ContainerDied a c1', 'ContainerRemoved a c1', 'ContainerStarted b c2']);
    release();
    await first;
    await clock.settle();
    expect(drain(events)).toEqual([]);
    expect([pleg.cache.size, pleg.state().inspections.due]).toEqual([1, 0]);
  });

  it('a pod that comes back under its uid while the old one is still being inspected is a new pod', async () => {
    const { clock, runtime, pleg, events } = setUpPleg();
    runtime.setPods([podOf('a', { c1: 'running' })]);
    const release = runtime.hangStatus('a');
    const first = pleg.relist();
    await clock.settle();
    runtime.removePod('a');
    await pleg.relist();
    runtime.setPod(podOf('a', { c9: 'running' }));
    const second = pleg.relist();
    await clock.settle();
    release();
    await Promise.all([first, second]);
    expect(drain(events)).toEqual(['ContainerDied a c1', 'ContainerRemoved a c1', 'ContainerStarted a c9']);
    expect(pleg.cache.get('a').status.containers.map(({ id }) => id)).toEqual(['c9']);
  });

  it('a list in flight does not see what vanishes after it, and the next one does', async () => {
    const { clock, runtime, pleg, events } = setUpPleg();
    let answer: readonly ObservedPod[] = [podOf('a', { c1: 'running' })];
    runtime.setPods(answer);
    await pleg.relist();
    drain(events);
    const release = runtime.hangList();
    const look = pleg.relist();
    await clock.settle();
    const asked = clock.stamp();
    const wait = watch(pleg.cache.getNewerThan('a', asked));
    answer = [];
    runtime.setPods(answer);
    release();
    await look;
    // That list began before the request, so it does not answer it, whatever it showed.
    expect(wait.cached).toBeUndefined();
    await pleg.relist();
    await clock.settle();
    expect(wait.cached?.status.containers).toEqual([]);
  });
});

describe('what is seen while an inspection runs or waits', () => {
  it('never appears in events before its time', async () => {
    const { clock, runtime, pleg, events, start } = setUpPleg({ relistPeriodMs: 60_000 });
    runtime.setPods([podOf('a', { c1: 'running' })]);
    await pleg.relist();
    runtime.delayStatus(500);
    runtime.setContainer('a', 'c1', 'exited');
    // The second finds the same change, due and not done.
    const both = [pleg.relist(), pleg.relist()];
    await clock.advance(1_000);
    await Promise.all(both);
    const stop = start();
    await clock.advance(1_000);
    drain(events);
    runtime.setContainer('a', 'c2', 'running');
    pleg.requestRelist('a');
    await clock.advance(1_000);
    expect(takeAll(events)).toMatchObject([{ type: 'ContainerStarted', trigger: 'request' }]);
    await stop();
  });

  it('answers requests made meanwhile, if it shows what is being inspected', async () => {
    const { clock, runtime, pleg, start } = setUpPleg({ relistPeriodMs: 60_000 });
    const stop = start();
    await clock.settle();
    const pod = podOf('a', { c1: 'running' });
    for (const again of [pod, { ...pod }]) {
      runtime.removePod('a');
      await pleg.relist();
      runtime.setPod(pod);
      const release = runtime.hangStatus('a');
      pleg.requestRelist('a');
      await clock.settle();
      const asked = clock.stamp();
      const wait = watch(pleg.cache.getNewerThan('a', asked));
      runtime.setPod(again);
      pleg.requestRelist('a');
      await clock.settle();
      // That list began after the request. What it showed is not fully known until the inspection ends.
      expect(wait.cached).toBeUndefined();
      release();
      await clock.settle();
      expect(wait.cached?.status.containers.map(({ id }) => id)).toEqual(['c1']);
      expect(pleg.cache.get('a').stamp).toBeGreaterThan(asked);
    }
    await stop();
  });

  it('moves a pod to the front if it is a death', async () => {
    const { clock, runtime, pleg, events } = setUpPleg({ inspectConcurrency: 1 });
    const uids = ['p0', 'p1', 'p2', 'p3'];
    runtime.setPods(uids.map((uid) => podOf(uid, { [`c-${uid}`]: 'running' })));
    await pleg.relist();
    drain(events);
    runtime.delayStatus(100);
    for (const uid of uids) runtime.setContainer(uid, `new-${uid}`, 'running');
    const first = pleg.relist();
    await clock.advance(10);
    runtime.setContainer('p3', 'c-p3', 'exited');
    const second = pleg.relist();
    await clock.advance(1_000);
    await Promise.all([first, second]);
    const order = takeAll(events).map((event) => ('pod' in event ? event.pod.uid : ''));
    expect([...new Set(order)]).toEqual(['p0', 'p3', 'p1', 'p2']);
  });
});

describe('odd answers', () => {
  it('a uid that is listed twice causes no storm of events: the first is used, each time', async () => {
    const twice = [
      podOf('a', { c1: 'running' }),
      podOf('a', { c2: 'running' }),
      podOf('b', { c3: 'running' }),
    ];
    const { pleg, events } = setUpPleg({
      runtime: {
        listPods: async () => twice,
        findPod: async () => twice[0],
        getPodStatus: async (pod) => ({ ...pod, ips: [], sandboxes: [], containers: [] }),
      },
    });
    await pleg.relist();
    expect(drain(events)).toEqual(['ContainerStarted a c1', 'ContainerStarted b c3']);
    for (let i = 0; i < 3; i++) await pleg.relist();
    expect(drain(events)).toEqual([]);
    expect(pleg.state().pods).toBe(2);
    twice.splice(0, 2);
    await pleg.relist();
    expect(drain(events)).toEqual(['ContainerDied a c1', 'ContainerRemoved a c1']);
  });

  it('the wall clock may jump: neither health nor order nor periods are affected', async () => {
    const { clock, runtime, pleg, start } = setUpPleg();
    runtime.setPods([podOf('a', { c1: 'running' })]);
    const stop = start();
    await clock.advance(5_000);
    for (const jump of [3_600_000, -7_200_000]) {
      clock.jumpWallClock(jump);
      expect(pleg.health().healthy).toBe(true);
      const stamp = clock.stamp();
      const wait = watch(pleg.cache.getNewerThan('a', stamp));
      const { listCalls } = runtime;
      await clock.advance(10_000);
      expect(wait.cached).toBeDefined();
      expect(runtime.listCalls - listCalls).toBe(10);
      expect(clock.now() - pleg.health().lastSeenAtMs!).toBeLessThanOrEqual(1_000);
    }
    await stop();
  });
});
