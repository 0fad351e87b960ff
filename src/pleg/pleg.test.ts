import { describe, expect, it } from 'vitest';
import { aContainer, aPod } from '../testing/builders.js';
import { FakeClock } from '../testing/fake-clock.js';
import { FakeRuntime } from '../testing/fake-runtime.js';
import { type ObservedState } from '../runtime/runtime.js';
import { Pleg } from './pleg.js';
import { type PlegOptions } from './pleg-options.js';
import { type Subscription } from './subscription.js';

function setUp(options: Partial<PlegOptions> = {}): {
  clock: FakeClock;
  runtime: FakeRuntime;
  pleg: Pleg;
  events: Subscription;
} {
  const clock = new FakeClock();
  const runtime = new FakeRuntime({ clock });
  const pleg = new Pleg({ runtime, clock, mode: 'generic', ...options });
  return { clock, runtime, pleg, events: pleg.subscribe() };
}

function podOf(uid: string, containers: Record<string, ObservedState>): ReturnType<typeof aPod> {
  return aPod({
    uid,
    sandboxes: [],
    containers: Object.entries(containers).map(([id, state]) => aContainer({ id, name: id, state })),
  });
}

/** What waits in the subscription, as `type pod container`, sorted: order across pods is not promised. */
function drain(events: Subscription): string[] {
  const lines: string[] = [];
  for (let event = events.take(); event !== undefined; event = events.take()) {
    const pod = 'pod' in event ? event.pod.uid : '*';
    lines.push(`${event.type} ${pod}${'containerId' in event ? ` ${event.containerId}` : ''}`);
  }
  return lines.sort();
}

describe('a relist called by hand', () => {
  it('tells of what started and died, of nothing the second time, and of what changed after that', async () => {
    const { runtime, pleg, events } = setUp();
    runtime.setPods([
      podOf('1234', { c1: 'exited', c2: 'running', c3: 'unknown' }),
      podOf('4567', { c1: 'exited' }),
    ]);
    await pleg.relist();
    expect(drain(events)).toEqual([
      'ContainerDied 1234 c1',
      'ContainerDied 4567 c1',
      'ContainerStarted 1234 c2',
    ]);
    await pleg.relist();
    expect(drain(events)).toEqual([]);
    runtime.setPods([podOf('1234', { c2: 'exited', c3: 'running' }), podOf('4567', { c4: 'running' })]);
    await pleg.relist();
    expect(drain(events)).toEqual([
      'ContainerDied 1234 c2',
      'ContainerRemoved 1234 c1',
      'ContainerRemoved 4567 c1',
      'ContainerStarted 1234 c3',
      'ContainerStarted 4567 c4',
    ]);
  });

  it('stores the error of a failing status, tells nothing of that pod, and catches up at the next', async () => {
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

  it('ends without a pod whose status hangs, names it, and tells exactly what was missed once it answers', async () => {
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
  it('answers a wait on the cache by looking at that pod at once', async () => {
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

  it('looks at a pod when an event hints at it, and says so in the trigger', async () => {
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
  it('is believed of all pods only when a second list shows it too', async () => {
    const { runtime, pleg, events } = setUp();
    runtime.setPods([podOf('a', { c1: 'running' })]);
    await pleg.relist();
    drain(events);
    runtime.failList(new Error('connection refused'));
    await expect(pleg.relist()).rejects.toThrow('connection refused');
    runtime.failList(undefined);
    runtime.setPods([]);
    await expect(pleg.relist()).rejects.toThrow('waiting for another to confirm');
    expect(drain(events)).toEqual([]);
    await pleg.relist();
    expect(drain(events)).toEqual(['ContainerDied a c1', 'ContainerRemoved a c1']);
  });

  it('is not believed when the next list shows the pods again', async () => {
    const { runtime, pleg, events } = setUp();
    const pod = podOf('a', { c1: 'running' });
    runtime.setPods([pod]);
    await pleg.relist();
    drain(events);
    runtime.failList(new Error('connection refused'));
    await expect(pleg.relist()).rejects.toThrow('connection refused');
    runtime.failList(undefined);
    runtime.setPods([]);
    await expect(pleg.relist()).rejects.toThrow('waiting for another to confirm');
    runtime.setPods([pod]);
    await pleg.relist();
    expect(drain(events)).toEqual([]);
  });
});
