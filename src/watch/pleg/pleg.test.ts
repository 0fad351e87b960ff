import { describe, expect, it } from 'vitest';
import { drain, podOf, setUpPleg as setUp } from '#support/harness/pleg-harness.js';

describe('a relist called by hand', () => {
  it('stores the error of a failing status, publishes nothing of that pod, and catches up at the next relist', async () => {
    const { runtime, pleg, events } = setUp();
    runtime.setPods([podOf('a', { c1: 'running' }), podOf('b', { c2: 'running' })]);
    runtime.failStatus('b', new Error('shim is gone'));
    await pleg.relist();
    expect(drain(events)).toEqual(['ContainerStarted a c1']);
    expect(pleg.cache.get('b').error?.message).toBe('shim is gone');
    expect(pleg.cache.get('b').status.containers).toEqual([]);
    runtime.failStatus('b', undefined);
    await pleg.relist();
    expect(drain(events)).toEqual(['ContainerStarted b c2']);
    expect(pleg.cache.get('b').error).toBeUndefined();
    expect(runtime.statusCalls('a')).toBe(1);
  });

  it('ends without a pod whose status hangs, names it, and publishes exactly what was missed once it answers', async () => {
    const { clock, runtime, pleg, events } = setUp();
    runtime.setPods([podOf('stuck', { c1: 'running' }), podOf('well', { c2: 'running' })]);
    await pleg.relist();
    drain(events);
    const release = runtime.hangStatus('stuck');
    runtime.setContainer('stuck', 'c1', 'exited', { exitCode: 7 });
    runtime.setContainer('well', 'c2', 'exited', { exitCode: 0 });
    let ended = false;
    const relist = pleg.relist().then(() => (ended = true));
    await clock.settle();
    expect(drain(events)).toEqual(['ContainerDied well c2']);
    expect(ended).toBe(false);
    await clock.advance(1_000);
    await relist;
    const health = pleg.health();
    expect(health.healthy).toBe(true);
    expect(health.stuckPods.map(({ pod, state }) => [pod.uid, state])).toEqual([['stuck', 'hung']]);
    await pleg.relist();
    expect(drain(events)).toEqual([]);
    expect(runtime.statusCalls('stuck')).toBe(2);
    release();
    await clock.settle();
    expect(drain(events)).toEqual(['ContainerDied stuck c1']);
    expect(pleg.health().stuckPods).toEqual([]);
  });
});

describe('a running generator', () => {
  it('answers a wait on the cache by listing that pod at once', async () => {
    const { clock, runtime, pleg } = setUp({ relistPeriodMs: 60_000, relistThresholdMs: 180_000 });
    const stop = new AbortController();
    runtime.setPods([podOf('a', { c1: 'running' })]);
    const running = pleg.run(stop.signal);
    await clock.settle();
    const wait = pleg.cache.getNewerThan('a', clock.stamp());
    await clock.settle();
    expect((await wait).status.containers.map(({ id }) => id)).toEqual(['c1']);
    expect(runtime.listCalls).toBe(1);
    expect(runtime.findCalls).toBe(1);
    stop.abort();
    await running;
  });

  it('lists a pod when an event hints at it, and sets that as the trigger', async () => {
    const { clock, runtime, pleg, events } = setUp({ mode: 'evented' });
    const stop = new AbortController();
    runtime.setPods([podOf('a', { c1: 'running' })]);
    const running = pleg.run(stop.signal);
    await clock.advance(2_000);
    drain(events);
    runtime.setContainer('a', 'c1', 'exited', { exitCode: 3 });
    runtime.emitEvent({
      type: 'stopped',
      containerId: 'c1',
      podUid: 'a',
      createdAtNs: BigInt(clock.now()) * 1_000_000n,
    });
    await clock.settle();
    expect(events.take()).toMatchObject({ type: 'ContainerDied', exitCode: 3, trigger: 'event' });
    expect(pleg.state().periodMs).toBe(300_000);
    stop.abort();
    await running;
  });
});

describe('absence after a failure', () => {
  /** The list that showed one pod is followed by a failed one, and then by an empty one that was rejected. */
  async function afterARefusedList() {
    const h = setUp();
    const pod = podOf('a', { c1: 'running' });
    h.runtime.setPods([pod]);
    await h.pleg.relist();
    drain(h.events);
    h.runtime.failList(new Error('connection refused'));
    await expect(h.pleg.relist()).rejects.toThrow('connection refused');
    h.runtime.failList(undefined);
    h.runtime.setPods([]);
    await expect(h.pleg.relist()).rejects.toThrow('waiting for another to confirm');
    expect(drain(h.events)).toEqual([]);
    return { ...h, pod };
  }

  it('of all pods is believed only when a second list shows it too', async () => {
    const { pleg, events } = await afterARefusedList();
    await pleg.relist();
    expect(drain(events)).toEqual(['ContainerDied a c1', 'ContainerRemoved a c1']);
  });

  it('is not believed when the next list shows the pods again', async () => {
    const { runtime, pleg, events, pod } = await afterARefusedList();
    runtime.setPods([pod]);
    await pleg.relist();
    expect(drain(events)).toEqual([]);
  });
});
