import { describe, expect, it } from 'vitest';
import { aRuntimeEvent } from '#testing/builders.js';
import { FakeClock } from '#testing/fake-clock.js';
import { FakeRuntime } from '#testing/fake-runtime.js';
import { PodloopError } from '#base/errors/errors.js';
import { ObservedRuntime } from './observed-runtime.js';

function observe(options: { events?: boolean } = {}) {
  const clock = new FakeClock();
  const fake = new FakeRuntime({ clock, ...options });
  const told: string[] = [];
  const runtime = new ObservedRuntime({
    runtime: fake,
    clock,
    onLost: (message) => told.push(`lost: ${message}`),
    onBack: () => told.push('back'),
    onNoEvents: () => told.push('no events'),
  });
  return { clock, fake, told, runtime };
}

const signal = new AbortController().signal;
const handlers = { onEvent: () => undefined };

describe('an observed runtime', () => {
  it('reports once that the list fails, and once that it succeeds again', async () => {
    const { fake, told, runtime } = observe();
    await runtime.listPods();
    fake.failList(new Error('connection refused'));
    await expect(runtime.listPods()).rejects.toThrow('connection refused');
    await expect(runtime.listPods()).rejects.toThrow('connection refused');
    fake.failList(undefined);
    await runtime.listPods();
    await runtime.listPods();
    expect(told).toEqual(['lost: connection refused', 'back']);
  });

  it('does not take a call that we gave up for a runtime that is gone', async () => {
    const { told, runtime } = observe();
    await expect(runtime.listPods(AbortSignal.abort(new Error('stopped')))).rejects.toThrow('stopped');
    expect(told).toEqual([]);
  });

  it('reports once that there are no events', async () => {
    const { fake, told, runtime } = observe();
    fake.refuseEvents(new PodloopError('CRI_UNIMPLEMENTED', 'unknown method GetContainerEvents'));
    await expect(runtime.watchEvents?.(handlers, signal)).rejects.toThrow('unknown method');
    await expect(runtime.watchEvents?.(handlers, signal)).rejects.toThrow('unknown method');
    expect(told).toEqual(['no events']);
  });

  it('takes a stream that ends at once for none, and one that lived for a stream', async () => {
    const { clock, fake, told, runtime } = observe();
    const longLived = runtime.watchEvents?.(handlers, signal);
    await clock.advance(5_000);
    fake.endEvents();
    await longLived;
    expect(told).toEqual([]);
    const ended = runtime.watchEvents?.(handlers, signal);
    await clock.advance(1);
    fake.endEvents();
    await ended;
    expect(told).toEqual(['no events']);
  });

  it('takes a stream that gave an event for a stream, even if it ended at once', async () => {
    const { clock, fake, told, runtime } = observe();
    const seen: string[] = [];
    const ended = runtime.watchEvents?.({ onEvent: ({ type }) => seen.push(type) }, signal);
    await clock.settle();
    fake.emitEvent(aRuntimeEvent({ type: 'started' }));
    fake.endEvents();
    await ended;
    expect([seen, told]).toEqual([['started'], []]);
  });

  it('has no event stream where the runtime can never have one', () => {
    expect(observe({ events: false }).runtime.watchEvents).toBeUndefined();
  });

  it('passes everything else on', async () => {
    const { runtime } = observe();
    expect(await runtime.findPod('none')).toBeUndefined();
  });
});
