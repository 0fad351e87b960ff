import { describe, expect, it } from 'vitest';
import { aRuntimeEvent } from '#testing/builders.js';
import { FakeClock } from '#testing/fake-clock.js';
import { FakeRuntime } from '#testing/fake-runtime.js';
import { podOf } from '#support/harness/pleg-harness.js';
import { type RuntimeEvent, type EventStatuses } from '../observed/runtime.js';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { type RuntimeEventReceipt, runtimeEventReceived } from '#base/channels/pleg-channels.js';
import { EventStream } from './event-stream.js';

function setUp({ events = true } = {}) {
  const clock = new FakeClock();
  const runtime = new FakeRuntime({ clock, events });
  const told: string[] = [];
  const stream = new EventStream({
    runtime,
    clock,
    logger: SILENT_LOGGER,
    random: () => 0.5,
    provenAfter: 10,
    onHint: (uid) => told.push(`hint ${uid ?? 'all'}`),
    onStopped: (uid, containerId, read) =>
      told.push(`end ${uid} ${containerId} of ${read().containers.length}`),
    onChange: () => told.push(`change`),
    onUp: () => told.push('up'),
    onDown: () => undefined,
  });
  const stopping = new AbortController();
  const running = stream.run(stopping.signal);
  const emit = (type: RuntimeEvent['type'], containerId = 'c', told?: EventStatuses): void => {
    const createdAtNs = BigInt(clock.now()) * 1_000_000n;
    const statuses = told && { statuses: () => told };
    runtime.emitEvent(aRuntimeEvent({ type, containerId, podUid: 'a', createdAtNs, ...statuses }));
  };
  const stop = async (): Promise<void> => {
    stopping.abort(new Error('enough'));
    await running;
  };
  return { clock, runtime, stream, told, emit, stop };
}

const before = podOf('a', { c: 'running' });
const after = podOf('a', { c: 'exited' });

describe('the event stream', () => {
  it('reports that it is up after its new state is visible', async () => {
    const { clock, told, stop } = setUp();
    await clock.settle();
    expect(told).toEqual(['change', 'up', 'change']);
    await stop();
    expect(told.at(-1)).toBe('change');
  });

  it("reports an exit before the hint, if the event has the pod's status", async () => {
    const { clock, runtime, told, emit, stop } = setUp();
    await clock.settle();
    told.length = 0;
    const statuses = () => ({ sandboxes: [], containers: [] });
    for (const type of ['created', 'started', 'stopped', 'deleted'] as const) {
      runtime.emitEvent(aRuntimeEvent({ type, containerId: 'c', podUid: 'a', statuses }));
    }
    emit('stopped');
    runtime.emitEvent(aRuntimeEvent({ type: 'stopped', podUid: undefined, statuses }));
    expect(told).toEqual(['hint a', 'end a c of 0', 'hint a', 'hint a', 'hint a', 'hint all']);
    await stop();
  });

  it('turns every event into a hint except a creation, and one without a pod into a relist', async () => {
    const { clock, runtime, stream, told, emit, stop } = setUp();
    await clock.settle();
    told.length = 0;
    for (const type of ['created', 'started', 'stopped', 'deleted', 'unknown'] as const) emit(type, type);
    runtime.emitEvent(aRuntimeEvent({ type: 'stopped', podUid: undefined }));
    expect(told).toEqual(['hint a', 'hint a', 'hint a', 'hint a', 'hint all']);
    expect(stream.stats.received).toBe(6);
    expect([stream.expects('a'), stream.expects('b')]).toEqual([true, false]);
    await stop();
  });

  it('reports every event to the counter as it comes', async () => {
    const { clock, emit, stop } = setUp();
    await clock.settle();
    const receipts: RuntimeEventReceipt[] = [];
    const unsubscribe = runtimeEventReceived.subscribe((receipt) => receipts.push(receipt));
    emit('created', 'c1');
    emit('stopped', 'c1');
    unsubscribe();
    emit('deleted', 'c1');
    const receipt = { containerId: 'c1', delayMs: 0 };
    expect(receipts).toEqual([
      { type: 'created', ...receipt },
      { type: 'stopped', ...receipt },
    ]);
    await stop();
  });

  it('judges changes only after a list that began while it was up', async () => {
    const { clock, stream, stop } = setUp();
    const early = clock.stamp();
    await clock.settle();
    stream.relisted(early);
    stream.compare('a', before, after);
    await clock.advance(2_000);
    expect(stream.stats).toMatchObject({ announced: 0, missed: 0 });
    stream.relisted(clock.stamp());
    stream.compare('a', before, after);
    await clock.advance(2_000);
    expect(stream.stats).toMatchObject({ announced: 0, missed: 1 });
    await stop();
  });

  it('reports when a change turns out to be announced, or not', async () => {
    const { clock, stream, told, emit, stop } = setUp();
    await clock.settle();
    stream.relisted(clock.stamp());
    emit('stopped');
    told.length = 0;
    stream.compare('a', before, after);
    expect([told, stream.announcedInARow]).toEqual([['change'], 1]);
    stream.compare('a', after, undefined);
    await clock.advance(2_000);
    expect([told, stream.announcedInARow]).toEqual([['change', 'change'], 0]);
    await stop();
  });

  it('forgets events of a pod that a later relist does not show', async () => {
    const { clock, stream, emit, stop } = setUp();
    await clock.settle();
    const nothing: EventStatuses = { sandboxes: [], containers: [] };
    const early = clock.stamp();
    emit('deleted', 'c', nothing);
    const kept = (): unknown[] => [stream.expects('a'), stream.findEventStatuses('a', clock.stamp())];
    stream.forgetAbsent(early, () => false);
    stream.forgetAbsent(clock.stamp(), (uid) => uid === 'a');
    expect(kept()).toEqual([true, nothing]);
    stream.forgetAbsent(clock.stamp(), () => false);
    expect(kept()).toEqual([false, undefined]);
    await stop();
  });

  it('leaves no timer at its end, and compares nothing from then on', async () => {
    const { clock, stream, emit, stop } = setUp();
    await clock.settle();
    stream.relisted(clock.stamp());
    emit('stopped');
    stream.compare('a', before, before);
    stream.compare('b', undefined, podOf('b', { d: 'running' }));
    expect(clock.pendingTimers).toBeGreaterThan(1);
    await stop();
    expect(clock.pendingTimers).toBe(0);
    stream.compare('a', before, after);
    expect([clock.pendingTimers, stream.expects('a')]).toEqual([0, false]);
    await clock.advance(5_000);
    expect(stream.stats.missed).toBe(0);
  });

  it('ends at once when the runtime can never have events', async () => {
    const { stream, told, stop } = setUp({ events: false });
    await stop();
    expect([stream.info.state, stream.info.connects, told]).toEqual(['off', 0, []]);
  });
});
