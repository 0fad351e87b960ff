import { describe, expect, it } from 'vitest';
import { aRuntimeEvent } from '#testing/builders.js';
import { drain, type PlegHarness, podOf, setUpPleg, takeAll } from '#support/harness/pleg-harness.js';
import { PodloopError } from '#base/errors/errors.js';
import { type PlegOptions } from './pleg-options.js';

const BROKEN = new Error('connection reset');

/** The longest stretched period. */
const MAX_MS = 60_000;

interface Running extends PlegHarness {
  readonly stop: () => Promise<void>;
  /** Relists of all pods that begin during the next `ms`. */
  readonly relistsWithin: (ms: number) => Promise<number>;
  /** Starts a container of pod `a`, announced or not; each time another one. */
  readonly change: (announced: boolean) => Promise<void>;
  /** Ten announced changes, and the relist that finds no other. */
  readonly prove: () => Promise<void>;
}

async function running(
  mode: PlegOptions['mode'],
  options: Partial<PlegOptions> = {},
  { eventsReachAll = false } = {},
): Promise<Running> {
  const h = setUpPleg({ mode, ...options }, { eventsReachAll });
  const { clock, runtime } = h;
  runtime.setPods([podOf('a', { c1: 'running' }), podOf('b', { c2: 'running' })]);
  const stop = h.start();
  await clock.advance(3_000);
  drain(h.events);
  let changes = 0;
  const change = async (announced: boolean): Promise<void> => {
    const { id } = runtime.setContainer('a', `more-${changes++}`, 'running');
    if (announced) emit(h, 'started', id);
    await clock.settle();
  };
  return {
    ...h,
    stop,
    change,
    relistsWithin: async (ms) => {
      const { listCalls } = runtime;
      await clock.advance(ms);
      return runtime.listCalls - listCalls;
    },
    prove: async () => {
      for (let i = 0; i < 10; i++) await change(true);
      await clock.advance(1_000);
    },
  };
}

function emit(
  h: PlegHarness,
  type: 'started' | 'stopped' | 'deleted' | 'created',
  containerId: string,
): void {
  const createdAtNs = BigInt(h.clock.now()) * 1_000_000n;
  h.runtime.emitEvent(aRuntimeEvent({ type, containerId, podUid: 'a', createdAtNs }));
}

describe('mode generic', () => {
  it('opens no event stream', async () => {
    const { runtime, pleg, stop, relistsWithin } = await running('generic');
    expect([runtime.eventReaders, pleg.state().stream.state]).toEqual([0, 'off']);
    expect(await relistsWithin(10_000)).toBe(10);
    await stop();
  });
});

describe('mode evented', () => {
  it('relists every five minutes while the stream is up, and every second from the moment it breaks', async () => {
    const { clock, runtime, pleg, stop, relistsWithin } = await running('evented');
    expect(pleg.state()).toMatchObject({ periodMs: 300_000, stream: { state: 'up' } });
    expect(pleg.health().thresholdMs).toBe(600_000);
    expect(await relistsWithin(200_000)).toBe(0);
    expect(await relistsWithin(100_000)).toBe(1);
    runtime.refuseEvents(BROKEN);
    runtime.breakEvents(BROKEN);
    await clock.advance(1);
    expect(pleg.state().periodMs).toBe(1_000);
    expect(pleg.health()).toMatchObject({ healthy: true, thresholdMs: 180_000 });
    expect(await relistsWithin(10_000)).toBeGreaterThanOrEqual(10);
    await stop();
    expect(clock.pendingTimers).toBe(0);
  });

  it('relists at once when the stream breaks, though the last relist was long ago', async () => {
    const { clock, runtime, pleg, events, stop } = await running('evented');
    await clock.advance(250_000);
    runtime.setContainer('b', 'c2', 'exited');
    runtime.refuseEvents(BROKEN);
    runtime.breakEvents(BROKEN);
    await clock.advance(0);
    expect(drain(events)).toEqual(['ContainerDied b c2']);
    expect(pleg.health().healthy).toBe(true);
    await stop();
  });

  it('relists after each reconnect, whatever happened while there was no stream', async () => {
    const { clock, runtime, events, stop, relistsWithin } = await running('evented');
    for (let i = 0; i < 3; i++) {
      runtime.breakEvents(BROKEN);
      runtime.setContainer('a', `lost-${i}`, 'running');
      expect(await relistsWithin(20_000)).toBeGreaterThanOrEqual(1);
      expect(drain(events)).toHaveLength(1);
      expect(await relistsWithin(100_000)).toBe(0);
    }
    expect(clock.pendingTimers).toBeGreaterThan(0);
    await stop();
  });

  it('finds at the reconnect what happened after the last list and before the stream was up', async () => {
    const { clock, runtime, pleg, events, stop } = await running('evented');
    runtime.refuseEvents(BROKEN);
    runtime.breakEvents(BROKEN);
    // Lists come at 0 and 1,000 ms after the break, attempts to connect at 525 and 1,125.
    await clock.advance(1_050);
    runtime.setContainer('b', 'c2', 'exited');
    runtime.refuseEvents(undefined);
    await clock.advance(75);
    expect(pleg.state()).toMatchObject({ periodMs: 300_000, stream: { state: 'up' } });
    expect(drain(events)).toEqual(['ContainerDied b c2']);
    await stop();
  });

  it('stays at the short period when the stream opens and ends at once, or is not implemented', async () => {
    for (const end of [
      (h: Running) => h.runtime.endEvents(),
      (h: Running) => h.runtime.breakEvents(new PodloopError('CRI_UNIMPLEMENTED', 'unknown method')),
    ]) {
      const h = await running('evented');
      h.runtime.breakEvents(BROKEN);
      await h.clock.settle();
      await h.clock.advance(100);
      end(h);
      await h.clock.settle();
      expect(h.pleg.state()).toMatchObject({ periodMs: 1_000, stream: { state: 'unsupported' } });
      expect(await h.relistsWithin(30_000)).toBeGreaterThanOrEqual(29);
      // Requested again after a minute, and up by then.
      await h.clock.advance(40_000);
      expect(h.pleg.state()).toMatchObject({ periodMs: 300_000, stream: { state: 'up' } });
      await h.stop();
    }
  });

  it('lists only the pod that an event names, at once, and does nothing for a container that was only created', async () => {
    const h = await running('evented');
    h.runtime.setContainer('a', 'c1', 'exited', { exitCode: 3 });
    h.runtime.setContainer('b', 'c2', 'exited');
    emit(h, 'created', 'c1');
    await h.clock.settle();
    expect(drain(h.events)).toEqual([]);
    emit(h, 'stopped', 'c1');
    await h.clock.settle();
    expect(takeAll(h.events)).toMatchObject([{ containerId: 'c1', exitCode: 3, trigger: 'event' }]);
    expect(h.runtime.findCalls).toBe(1);
    h.runtime.emitEvent(aRuntimeEvent({ type: 'deleted', podUid: undefined }));
    await h.clock.settle();
    expect(takeAll(h.events)).toMatchObject([{ containerId: 'c2', trigger: 'event' }]);
    await h.stop();
  });

  it.each([false, true])(
    'looks again soon when the list does not show yet what an event said (answered by a look at all: %s)',
    async (byAll) => {
      const h = await running('evented');
      emit(h, 'stopped', 'c1');
      if (byAll) await h.pleg.relist();
      await h.clock.settle();
      expect(drain(h.events)).toEqual([]);
      h.runtime.setContainer('a', 'c1', 'exited');
      await h.clock.advance(100);
      expect(drain(h.events)).toEqual(['ContainerDied a c1']);
      await h.stop();
      expect(h.clock.pendingTimers).toBe(0);
    },
  );

  it('handles a flood of events without a call for each, and goes on draining the stream', async () => {
    const h = await running('evented');
    const before = h.runtime.listCalls + h.runtime.findCalls;
    const release = h.runtime.hangList();
    for (let i = 0; i < 50_000; i++) {
      h.runtime.emitEvent(aRuntimeEvent({ type: 'stopped', containerId: `x${i}`, podUid: `x${i % 5_000}` }));
    }
    expect(h.pleg.state().stream.received).toBe(50_000);
    expect(h.pleg.state().requests.queued).toBeLessThanOrEqual(1_000);
    release();
    await h.clock.advance(5_000);
    expect(h.runtime.listCalls + h.runtime.findCalls - before).toBeLessThan(20);
    await h.stop();
    expect(h.clock.pendingTimers).toBe(0);
  });
});

describe('mode auto', () => {
  it('stretches after ten changes that were all announced and a relist that finds no other, and not on an idle node', async () => {
    const { clock, pleg, stop, change, relistsWithin } = await running('auto');
    expect(await relistsWithin(60_000)).toBe(60);
    for (let i = 0; i < 9; i++) await change(true);
    expect(pleg.state()).toMatchObject({ periodMs: 1_000, stream: { announced: 9 } });
    await change(true);
    expect(pleg.state()).toMatchObject({ periodMs: 1_000, stream: { announced: 10 } });
    expect(await relistsWithin(1_000)).toBe(1);
    expect(pleg.state().periodMs).toBe(10_000);
    await clock.advance(9_000);
    expect(await relistsWithin(1_000)).toBe(1);
    await stop();
    expect(clock.pendingTimers).toBe(0);
  });

  it('stretches on an idle node where events go to every reader, until a change comes without one', async () => {
    const { clock, pleg, events, stop, change, relistsWithin } = await running(
      'auto',
      {},
      { eventsReachAll: true },
    );
    expect(pleg.state()).toMatchObject({ periodMs: 10_000, stream: { announced: 0 } });
    expect(await relistsWithin(60_000)).toBeLessThan(6);
    await change(false);
    await clock.advance(60_000);
    expect(drain(events)).toEqual(['ContainerStarted a a-more-0-0']);
    expect(pleg.state()).toMatchObject({ periodMs: 1_000, stream: { missed: 1 } });
    expect(await relistsWithin(10_000)).toBe(10);
    await stop();
  });

  it('finds within a second a change whose event went to a reader that is gone, though all others were announced', async () => {
    const h = await running('auto');
    await h.change(false);
    for (let i = 0; i < 20; i++) await h.change(true);
    drain(h.events);
    h.runtime.setContainer('b', 'c2', 'exited');
    expect(await h.relistsWithin(1_000)).toBe(1);
    expect(drain(h.events)).toEqual(['ContainerDied b c2']);
    await h.clock.advance(1_000);
    expect(h.pleg.state().periodMs).toBe(1_000);
    await h.stop();
  });

  it('stretches on to a minute, doubling with each relist that finds nothing new', async () => {
    const { clock, pleg, stop, change, prove, relistsWithin } = await running('auto');
    await prove();
    await clock.advance(9_000);
    const periodsMs: number[] = [];
    for (const periodMs of [1_000, 20_000, 40_000, MAX_MS, MAX_MS]) {
      expect(await relistsWithin(periodMs - 1)).toBe(0);
      expect(await relistsWithin(1)).toBe(1);
      periodsMs.push(pleg.state().periodMs);
      expect(pleg.health()).toMatchObject({ healthy: true, thresholdMs: 180_000 });
    }
    expect(periodsMs).toEqual([20_000, 40_000, MAX_MS, MAX_MS, MAX_MS]);
    // Announced changes do not shorten it, and are seen at once.
    await change(true);
    expect(pleg.state()).toMatchObject({ periodMs: MAX_MS, stream: { announced: 11 } });
    expect(await relistsWithin(MAX_MS - 1)).toBe(0);
    expect(await relistsWithin(1)).toBe(1);
    await stop();
    expect(clock.pendingTimers).toBe(0);
  });

  it('stays stretched however many events come for pods that were gone by then', async () => {
    const { clock, runtime, pleg, stop, prove } = await running('auto');
    await prove();
    // More than are checked against lists at a time; being many, they are answered by a relist.
    for (let i = 0; i < 5_000; i++) {
      const createdAtNs = BigInt(clock.now()) * 1_000_000n;
      const gone = { podUid: `gone-${i}`, containerId: `gone-${i}` };
      runtime.emitEvent(aRuntimeEvent({ type: 'deleted', ...gone, createdAtNs }));
      if (i % 500 === 499) await clock.settle();
    }
    expect(pleg.state()).toMatchObject({ periodMs: 10_000, stream: { received: 5_010, contradicted: 0 } });
    await stop();
    expect(clock.pendingTimers).toBe(0);
  });

  it('does not stretch on for relists that somebody requests', async () => {
    const h = await running('auto');
    await h.prove();
    for (let i = 0; i < 5; i++) {
      await h.pleg.relist();
      h.pleg.requestRelist('a');
      await h.clock.advance(1_000);
    }
    expect(h.pleg.state().periodMs).toBe(10_000);
    await h.stop();
  });

  it.each<readonly [string, (h: Running) => unknown, { inMs?: number; relistByThen?: boolean }]>([
    [
      'a change that no event announced',
      async (h) => h.change(false).then(() => h.pleg.relist()),
      { inMs: 1_001 },
    ],
    // As long as it is checked against further lists.
    ['an event that no look confirms', (h) => emit(h, 'stopped', 'c1'), { inMs: 1_920 }],
    ['an event that cannot be read', (h) => h.runtime.events.skip(), {}],
    [
      'a container in a state that no event tells of',
      async (h) => {
        h.runtime.setContainer('b', 'c2', 'unknown');
        await h.pleg.relist();
      },
      {},
    ],
    ['the end of the stream', (h) => h.runtime.endEvents(), {}],
  ])(
    'returns to a second from the longest period with %s, and begins anew',
    async (_, surprise, { inMs = 0 }) => {
      const h = await running('auto');
      await h.prove();
      await h.clock.advance(3 * MAX_MS);
      expect(h.pleg.state().periodMs).toBe(MAX_MS);
      await surprise(h);
      await h.clock.advance(inMs);
      await h.clock.settle();
      expect(h.pleg.state().periodMs).toBe(1_000);
      expect(await h.relistsWithin(20_000)).toBeGreaterThanOrEqual(18);
      // Up again by then, if it was gone, but not trusted yet.
      expect(h.pleg.state()).toMatchObject({ periodMs: 1_000, stream: { state: 'up' } });
      await h.change(true);
      expect(h.pleg.state().periodMs).toBe(1_000);
      for (let i = 0; i < 9; i++) await h.change(true);
      await h.clock.advance(1_000);
      expect(h.pleg.state().periodMs).toBe(10_000);
      await h.clock.advance(10_000);
      expect(h.pleg.state().periodMs).toBe(20_000);
      await h.stop();
      expect(h.clock.pendingTimers).toBe(0);
    },
  );

  it('returns to ten seconds after a list that failed, and is a second until one succeeds', async () => {
    const h = await running('auto');
    await h.prove();
    await h.clock.advance(3 * MAX_MS);
    h.runtime.failList(BROKEN);
    await h.clock.advance(MAX_MS);
    expect(await h.relistsWithin(10_000)).toBe(10);
    h.runtime.failList(undefined);
    await h.clock.advance(1_000);
    expect(h.pleg.state().periodMs).toBe(10_000);
    expect(await h.relistsWithin(9_000)).toBe(0);
    expect(await h.relistsWithin(1_000)).toBe(1);
    expect(h.pleg.state().periodMs).toBe(20_000);
    await h.stop();
  });

  it('stays at ten seconds while lists take longer than that, as the threshold covers both together', async () => {
    const h = await running('auto');
    await h.prove();
    h.runtime.delayList(100_000);
    await h.clock.advance(10_000);
    for (let i = 0; i < 40; i++) {
      await h.clock.advance(20_000);
      expect(h.pleg.state().periodMs).toBe(10_000);
    }
    h.runtime.delayList(0);
    await h.clock.advance(210_000);
    expect(h.pleg.state().periodMs).toBe(MAX_MS);
    await h.stop();
  });

  it('finds a change whose event got lost within a minute at most', async () => {
    const h = await running('auto');
    await h.prove();
    await h.clock.advance(3 * MAX_MS);
    drain(h.events);
    h.runtime.setContainer('b', 'c2', 'exited');
    await h.clock.advance(MAX_MS);
    expect(drain(h.events)).toEqual(['ContainerDied b c2']);
    await h.stop();
  });

  it('counts an event that comes after the change was seen', async () => {
    const h = await running('auto');
    for (let i = 0; i < 10; i++) {
      const { id } = h.runtime.setContainer('a', `late-${i}`, 'running');
      await h.pleg.relist();
      await h.clock.advance(500);
      emit(h, 'started', id);
    }
    await h.clock.advance(1_000);
    expect(h.pleg.state()).toMatchObject({ periodMs: 10_000, stream: { announced: 10, missed: 0 } });
    await h.stop();
  });

  it.each([
    ['a stretched relist', async (h: Running) => h.clock.advance(20_000)],
    [
      'a look that somebody asked for',
      async (h: Running) => {
        h.pleg.requestRelist('a');
        await h.clock.settle();
      },
    ],
    ['a relist by hand', async (h: Running) => h.pleg.relist()],
  ])('returns to a second when %s finds a change that no event announced', async (_, look) => {
    const h = await running('auto');
    await h.prove();
    await h.clock.advance(10_000);
    expect(h.pleg.state().periodMs).toBe(20_000);
    drain(h.events);
    await h.change(false);
    await look(h);
    expect(drain(h.events)).toHaveLength(1);
    await h.clock.advance(1_100);
    expect(h.pleg.state()).toMatchObject({ periodMs: 1_000, stream: { missed: 1 } });
    const relists = await h.relistsWithin(5_000);
    expect(relists).toBeGreaterThanOrEqual(4);
    // The proof starts over.
    for (let i = 0; i < 9; i++) await h.change(true);
    expect(h.pleg.state().periodMs).toBe(1_000);
    await h.change(true);
    await h.clock.advance(1_000);
    expect(h.pleg.state().periodMs).toBe(10_000);
    await h.stop();
    expect(h.clock.pendingTimers).toBe(0);
  });

  it('returns to a second at once when the stream breaks, and does not blame the next stream for the gap', async () => {
    const h = await running('auto');
    await h.prove();
    expect(h.pleg.state().periodMs).toBe(10_000);
    h.runtime.refuseEvents(BROKEN);
    h.runtime.breakEvents(BROKEN);
    await h.change(false);
    await h.clock.advance(1);
    expect(h.pleg.state().periodMs).toBe(1_000);
    await h.change(false);
    h.runtime.refuseEvents(undefined);
    await h.clock.advance(30_000);
    expect(h.pleg.state().stream).toMatchObject({ state: 'up', missed: 0 });
    await h.prove();
    expect(h.pleg.state()).toMatchObject({ periodMs: 10_000, stream: { missed: 0 } });
    await h.stop();
  });

  it('treats a backlog of old events at connect as hints, and as nothing else', async () => {
    const h = setUpPleg({ mode: 'auto' });
    const old = Array.from({ length: 1_000 }, (_, i) =>
      aRuntimeEvent({ type: 'started', containerId: `a-more-${i}-0`, podUid: 'a' }),
    );
    h.runtime.events.keepForNextReader(old);
    h.runtime.setPods([podOf('a', { c1: 'running' })]);
    const stop = h.start();
    await h.clock.advance(2_500);
    expect(h.pleg.state().stream).toMatchObject({ received: 1_000, announced: 0, missed: 0 });
    for (let i = 0; i < 10; i++) {
      h.runtime.setContainer('a', `more-${i}`, 'running');
      await h.clock.advance(3_000);
    }
    expect(h.pleg.state()).toMatchObject({ periodMs: 1_000, stream: { announced: 0, missed: 10 } });
    expect(h.runtime.listCalls + h.runtime.findCalls).toBeLessThan(60);
    await stop();
  });
});
