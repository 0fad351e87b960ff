import { describe, expect, it } from 'vitest';
import { aRuntimeEvent } from '#testing/builders.js';
import { FakeClock } from '#testing/fake-clock.js';
import { FakeRuntime } from '#testing/fake-runtime.js';
import { type Runtime, type RuntimeEvent } from '../../observed/runtime.js';
import { PodloopError } from '#base/errors/errors.js';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { EventHints, RECONNECT_CAP_MS, type StreamState } from './event-hints.js';

const BROKEN = new Error('connection reset');
const UNIMPLEMENTED = new PodloopError('CRI_UNIMPLEMENTED', 'unknown method GetContainerEvents');

function setUp(options: { random?: number; runtime?: Runtime; refuse?: Error } = {}) {
  const { random = 0.5, runtime: given } = options;
  const clock = new FakeClock();
  let connects: number[] = [];
  const fake = new FakeRuntime({ clock, onCall: () => connects.push(clock.monotonicMs()) });
  fake.refuseEvents(options.refuse);
  const events: RuntimeEvent[] = [];
  let skipped = 0;
  const states: StreamState[] = [];
  const hints = new EventHints({
    runtime: given ?? fake,
    clock,
    logger: SILENT_LOGGER,
    random: () => random,
    onEvent: (event) => events.push(event),
    onSkipped: () => skipped++,
    onState: (state) => states.push(state),
  });
  const stopping = new AbortController();
  const running = hints.run(stopping.signal);
  const stop = async (): Promise<void> => {
    stopping.abort(new Error('enough'));
    await running;
  };
  /** When each subscription is requested during the next `ms`, in milliseconds from now. */
  const connectsWithin = async (ms: number): Promise<number[]> => {
    const startMs = clock.monotonicMs();
    connects = [];
    await clock.advance(ms);
    return connects.map((atMs) => atMs - startMs);
  };
  return { clock, runtime: fake, events, skipped: () => skipped, states, hints, stop, connectsWithin };
}

describe('a subscription', () => {
  it('is up as soon as the runtime has accepted it, and passes on events in the same tick', async () => {
    const { clock, runtime, events, skipped, states, hints, stop } = setUp();
    await clock.settle();
    expect(states).toEqual(['connecting', 'up']);
    expect(hints.info).toMatchObject({ state: 'up', connects: 1, failures: 0, connectedAtMs: clock.now() });
    const event = aRuntimeEvent();
    runtime.emitEvent(event);
    expect([events, skipped()]).toEqual([[event], 0]);
    runtime.events.skip();
    expect([events, skipped()]).toEqual([[event], 1]);
    await stop();
    expect(hints.info).toMatchObject({ state: 'off', connectedAtMs: undefined, failures: 0 });
    expect([runtime.eventReaders, clock.pendingTimers]).toEqual([0, 0]);
  });

  it('without headers is up with the first event, or after a second', async () => {
    const silent = setUp();
    silent.runtime.events.announceOpening(false);
    await silent.clock.advance(999);
    expect(silent.states).toEqual(['connecting']);
    await silent.clock.advance(1);
    expect(silent.states).toEqual(['connecting', 'up']);
    await silent.stop();
    const chatty = setUp();
    chatty.runtime.events.announceOpening(false);
    await chatty.clock.settle();
    chatty.runtime.emitEvent(aRuntimeEvent());
    chatty.runtime.emitEvent(aRuntimeEvent());
    expect(chatty.states).toEqual(['connecting', 'up']);
    await chatty.stop();
  });
});

describe('a stream that breaks', () => {
  it('is requested again at once, then with growing delays up to a minute, for ever', async () => {
    const { runtime, clock, stop, connectsWithin, hints } = setUp();
    await clock.settle();
    runtime.refuseEvents(BROKEN);
    runtime.breakEvents(BROKEN);
    const times = await connectsWithin(600_000);
    const gaps = times.map((time, index) => time - (times[index - 1] ?? 0));
    // Jitter takes a quarter here: half of the delay is random, and the random number is always one half.
    const delays = [0, 75, 150, 300, 600, 1_200, 2_400, 4_800, 9_600, 19_200, 38_400, 45_000];
    expect(gaps.slice(0, delays.length)).toEqual(delays);
    for (const gap of gaps.slice(delays.length)) expect(gap).toBe(45_000);
    expect(times.length).toBeGreaterThan(20);
    expect(hints.info).toMatchObject({ state: 'waiting', lastError: 'connection reset' });
    await stop();
    expect(clock.pendingTimers).toBe(0);
  });

  it.each([
    [0, 30_000],
    [0.999_999, 60_000],
  ])('waits between half of the cap and the cap, at random (%d)', async (random, expected) => {
    const { clock, stop, connectsWithin } = setUp({ random, refuse: BROKEN });
    await clock.advance(300_000);
    const times = await connectsWithin(200_000);
    expect(times[2]! - times[1]!).toBeCloseTo(expected, -1);
    await stop();
  });

  it('starts the delays over once it has lived for a minute, and not before', async () => {
    const { runtime, clock, states, stop, hints, connectsWithin } = setUp({ refuse: BROKEN });
    await clock.advance(20_000);
    runtime.refuseEvents(undefined);
    await clock.advanceUntil(() => hints.info.state === 'up');
    await clock.advance(59_999);
    runtime.breakEvents(BROKEN);
    expect((await connectsWithin(40_000))[0]).toBeGreaterThan(1_000);
    expect(hints.info.state).toBe('up');
    await clock.advance(60_000);
    runtime.breakEvents(BROKEN);
    expect((await connectsWithin(10))[0]).toBe(0);
    expect(states.slice(-3)).toEqual(['waiting', 'connecting', 'up']);
    await stop();
  });

  it('that lived for a while and ended without an error is treated like one that broke', async () => {
    const { runtime, clock, states, hints, stop } = setUp();
    await clock.advance(5_000);
    runtime.endEvents();
    await clock.advance(0);
    expect(states).toEqual(['connecting', 'up', 'waiting', 'connecting', 'up']);
    expect(hints.info).toMatchObject({ failures: 1, lastError: 'the runtime ended the stream' });
    await stop();
  });

  it('and had events is requested again even if it ended at once', async () => {
    const { runtime, clock, states, stop } = setUp();
    await clock.settle();
    runtime.emitEvent(aRuntimeEvent());
    runtime.endEvents();
    await clock.advance(0);
    expect(states).toEqual(['connecting', 'up', 'waiting', 'connecting', 'up']);
    await stop();
  });
});

describe('a runtime without events', () => {
  it('is asked again at the cap when it answers Unimplemented, whether before or after the stream seemed up', async () => {
    const { runtime, clock, hints, states, stop, connectsWithin } = setUp({ refuse: UNIMPLEMENTED });
    await clock.settle();
    expect(await connectsWithin(3 * RECONNECT_CAP_MS)).toEqual([60_000, 120_000, 180_000]);
    expect(hints.info.state).toBe('unsupported');
    runtime.refuseEvents(undefined);
    runtime.events.announceOpening(false);
    await clock.advance(RECONNECT_CAP_MS + 2_000);
    expect(hints.info.state).toBe('up');
    runtime.breakEvents(UNIMPLEMENTED);
    await clock.settle();
    expect(states.slice(-2)).toEqual(['up', 'unsupported']);
    await stop();
  });

  it('is recognized by a stream that ends at once without an error, even after it was accepted', async () => {
    const { runtime, clock, hints, states, stop } = setUp();
    for (const opens of [true, false]) {
      runtime.events.announceOpening(opens);
      await clock.settle();
      runtime.endEvents();
      await clock.settle();
      expect(hints.info.state).toBe('unsupported');
      await clock.advance(RECONNECT_CAP_MS - 1);
      expect(hints.info.state).toBe('unsupported');
      await clock.advance(1);
    }
    expect(states.slice(0, 4)).toEqual(['connecting', 'up', 'unsupported', 'connecting']);
    await stop();
  });

  it('that gets them is up again, and its first failure is retried at once', async () => {
    const { runtime, clock, hints, stop, connectsWithin } = setUp({ refuse: UNIMPLEMENTED });
    await clock.advance(RECONNECT_CAP_MS * 5);
    runtime.refuseEvents(undefined);
    await clock.advance(RECONNECT_CAP_MS);
    expect(hints.info.state).toBe('up');
    runtime.breakEvents(BROKEN);
    expect(await connectsWithin(1)).toEqual([0]);
    await stop();
  });
});

describe('a runtime that misbehaves', () => {
  const idle: Runtime = {
    listPods: async () => [],
    findPod: async () => undefined,
    getPodStatus: async () => Promise.reject(new Error('not here')),
  };

  it('by throwing before it returns a promise is treated like one that failed', async () => {
    const { clock, hints, stop } = setUp({
      runtime: {
        ...idle,
        watchEvents: () => {
          throw new Error('synchronously');
        },
      },
    });
    await clock.advance(1_000);
    expect(hints.info).toMatchObject({ state: 'waiting', lastError: 'synchronously' });
    await stop();
  });

  it('by ignoring the signal cannot keep the run from ending', async () => {
    const { clock, hints, stop } = setUp({
      runtime: { ...idle, watchEvents: async () => new Promise<void>(() => undefined) },
    });
    await clock.advance(1_000);
    await stop();
    expect([hints.info.state, clock.pendingTimers]).toEqual(['off', 0]);
  });

  it('by calling back after its end is ignored', async () => {
    const late: (() => void)[] = [];
    const { clock, hints, events, skipped, stop } = setUp({
      runtime: {
        ...idle,
        watchEvents: async (handlers) => {
          late.push(
            () => handlers.onOpen?.(),
            () => handlers.onEvent(aRuntimeEvent()),
            () => handlers.onSkipped?.(),
          );
          await Promise.resolve();
          throw BROKEN;
        },
      },
    });
    await clock.advance(200);
    for (const call of late) call();
    expect([hints.info.state, events, skipped()]).toEqual(['waiting', [], 0]);
    await stop();
  });
});

it('can be run again after it has ended', async () => {
  const { clock, hints, stop, states } = setUp();
  await clock.settle();
  await stop();
  const stopping = new AbortController();
  const again = hints.run(stopping.signal);
  await clock.settle();
  expect(hints.info.state).toBe('up');
  stopping.abort();
  await again;
  expect(states).toEqual(['connecting', 'up', 'off', 'connecting', 'up', 'off']);
});
