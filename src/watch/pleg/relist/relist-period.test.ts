import { describe, expect, it, onTestFinished } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { type StreamState } from '../announced/event-hints.js';
import { type CadenceOptions, DEFAULT_CADENCE, type PlegMode } from './relist-cadence.js';
import { RelistPeriod } from './relist-period.js';

function setUp(mode: PlegMode = 'auto', options: Partial<CadenceOptions> = {}) {
  const clock = new FakeClock();
  const logger = new LogRecorder();
  const stream = { info: { state: 'off' as StreamState }, announcedInARow: 0 };
  const looks: { lastListError: string | undefined } = { lastListError: undefined };
  const cadence = { ...DEFAULT_CADENCE, mode, ...options };
  const period = new RelistPeriod({ clock, logger, cadence, stream, looks });
  const stopping = new AbortController();
  onTestFinished(() => stopping.abort());
  /** Sets the stream's state and the number of announced changes. */
  const become = (state: StreamState, announcedInARow: number): void => {
    stream.info.state = state;
    stream.announcedInARow = announcedInARow;
    period.reconsider();
  };
  /** Begins a period; `over` returns how long it was and whether the stream proved complete. */
  const begin = (): { readonly over: () => { lastedMs: number; isProven: boolean } | undefined } => {
    const beganMs = clock.monotonicMs();
    let over: { lastedMs: number; isProven: boolean } | undefined;
    void period.untilOver(stopping.signal).then((isProven) => {
      over = { lastedMs: clock.monotonicMs() - beganMs, isProven };
    });
    return { over: () => over };
  };
  const waitOne = async (): Promise<{ lastedMs: number; isProven: boolean } | undefined> => {
    const { over } = begin();
    await clock.advanceUntil(() => over() !== undefined);
    return over();
  };
  const quiet = async (durationMs = 5): Promise<void> => {
    await waitOne();
    period.noteQuietRelist(durationMs);
    period.reconsider();
  };
  /** The stream announces every change, and a relist finds no other. */
  const prove = async (): Promise<void> => {
    become('up', PROVEN);
    await quiet();
  };
  return { clock, logger, looks, stream, period, stopping, become, begin, waitOne, quiet, prove };
}

const PROVEN = DEFAULT_CADENCE.provenAfter;

describe('a wait', () => {
  it('lasts a second while nothing is proven', async () => {
    const { waitOne, become } = setUp();
    expect(await waitOne()).toEqual({ lastedMs: 1_000, isProven: false });
    become('up', PROVEN - 1);
    expect(await waitOne()).toEqual({ lastedMs: 1_000, isProven: false });
  });

  it('lasts a second when the stream proves complete meanwhile, and longer once a relist has found nothing else', async () => {
    const { clock, become, begin, waitOne, period } = setUp();
    const { over } = begin();
    await clock.advance(600);
    become('up', PROVEN);
    await clock.advance(400);
    expect(over()).toEqual({ lastedMs: 1_000, isProven: true });
    period.noteQuietRelist(5);
    expect(await waitOne()).toEqual({ lastedMs: 10_000, isProven: true });
  });

  it('is over at once when the stream breaks after more than a second', async () => {
    const { clock, become, begin, prove } = setUp();
    await prove();
    const { over } = begin();
    await clock.advance(4_000);
    become('waiting', 0);
    await clock.settle();
    expect(over()).toEqual({ lastedMs: 4_000, isProven: false });
  });

  it('is no longer than a second after a list that failed, however complete the stream is', async () => {
    const { looks, period, waitOne, prove } = setUp();
    await prove();
    looks.lastListError = 'the runtime is gone';
    expect(await waitOne()).toEqual({ lastedMs: 1_000, isProven: false });
    expect(period.periodMs).toBe(10_000);
  });

  it('ends at once when the signal aborts, and leaves no timer', async () => {
    const { clock, stopping, begin } = setUp();
    const { over } = begin();
    await clock.settle();
    expect(clock.pendingTimers).toBe(1);
    stopping.abort();
    await clock.settle();
    expect([over()?.lastedMs, clock.pendingTimers]).toEqual([0, 0]);
  });
});

describe('the period', () => {
  it('stretches with a quiet relist, doubles with each further one up to a minute, and logs that', async () => {
    const { become, quiet, period, logger } = setUp();
    become('up', PROVEN);
    const periods = [period.periodMs];
    for (let relist = 0; relist < 5; relist++) {
      await quiet();
      periods.push(period.periodMs);
    }
    expect(periods).toEqual([1_000, 10_000, 20_000, 40_000, 60_000, 60_000]);
    expect(logger.lines.map(({ fields }) => fields['period'])).toEqual([
      '10000ms',
      '20000ms',
      '40000ms',
      '60000ms',
    ]);
  });

  it('starts over after a relist that took long, and after one that failed', async () => {
    const { quiet, period, prove } = setUp();
    await prove();
    await quiet();
    await quiet(10_000);
    expect(period.periodMs).toBe(40_000);
    await quiet(10_001);
    expect(period.periodMs).toBe(10_000);
    await quiet();
    expect(period.periodMs).toBe(20_000);
    period.noteFailedRelist();
    period.reconsider();
    expect(period.periodMs).toBe(10_000);
  });

  it('forgets quiet relists from before the stream was in doubt', async () => {
    const { become, quiet, period, prove } = setUp();
    await prove();
    await quiet();
    await quiet();
    expect(period.periodMs).toBe(40_000);
    become('up', 0);
    expect(period.periodMs).toBe(1_000);
    become('up', PROVEN);
    expect(period.periodMs).toBe(1_000);
    await quiet();
    expect(period.periodMs).toBe(10_000);
  });

  it('does not count a relist that ends when the stream is already in doubt', () => {
    const { become, stream, period } = setUp();
    become('up', PROVEN);
    stream.announcedInARow = 0;
    period.noteQuietRelist(5);
    become('up', PROVEN);
    expect(period.periodMs).toBe(1_000);
  });
});

describe('the pause after a slow list', () => {
  it.each([
    [0, 1_000],
    [100, 1_000],
    [500, 4_500],
    [4_000, 36_000],
    [120_000, 45_000],
  ])('keeps lists that take %i ms to a tenth of the time, with a pause of %i ms', async (listMs, pauseMs) => {
    const { period, waitOne, looks } = setUp('generic', { maxListShare: 0.1 });
    period.noteList(listMs);
    expect(await waitOne()).toEqual({ lastedMs: pauseMs, isProven: false });
    looks.lastListError = 'it was not answered in time';
    expect(await waitOne()).toEqual({ lastedMs: pauseMs, isProven: false });
    period.noteList(1);
    expect(await waitOne()).toEqual({ lastedMs: 1_000, isProven: false });
  });

  it('is as long as any other by default', async () => {
    const { period, waitOne } = setUp('generic');
    period.noteList(60_000);
    expect(await waitOne()).toEqual({ lastedMs: 1_000, isProven: false });
  });
});

it('is only as old as the last time that the threshold became shorter', async () => {
  const { clock, become, period } = setUp('evented');
  const facts = (): number[] => [period.thresholdMs, period.thresholdAgeMs];
  await clock.advance(5_000);
  expect(facts()).toEqual([180_000, 5_000]);
  become('up', 0);
  expect(facts()).toEqual([600_000, 5_000]);
  await clock.advance(1_000);
  become('waiting', 0);
  await clock.advance(300);
  expect(facts()).toEqual([180_000, 300]);
  become('waiting', 0);
  expect(facts()).toEqual([180_000, 300]);
});
