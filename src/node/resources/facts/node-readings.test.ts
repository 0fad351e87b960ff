import { expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { NodeReadings } from './node-readings.js';

/** One reading that does what the test says, and one that is well. */
function scene() {
  const [clock, logger] = [new FakeClock(), new LogRecorder()];
  const state = { work: async (): Promise<void> => undefined, begun: 0, others: 0 };
  const readings = new NodeReadings({
    ...{ deadlineMs: 5_000, clock, logger },
    readings: [
      {
        name: 'resources',
        read: async () => {
          state.begun++;
          await state.work();
        },
      },
      {
        name: 'addresses',
        read: async () => {
          state.others++;
        },
      },
    ],
  });
  return { readings, state, clock, logger };
}

it('a reading that hangs stops no other, is named once, and is not begun again before it has ended', async () => {
  const { readings, state, clock, logger } = scene();
  let end = (): void => undefined;
  state.work = async () => new Promise((resolve) => (end = resolve));
  const first = readings.refresh();
  await clock.advance(5_000);
  await first;
  // Nobody waits for it any more, either.
  await readings.refresh();
  await readings.refresh();
  expect([state.begun, state.others]).toEqual([1, 3]);
  expect(logger.lines).toEqual([
    {
      level: 'warn',
      message: 'Reading facts of the node hangs, what was read before holds',
      fields: { reading: 'resources', afterMs: 5_000 },
    },
  ]);
  await clock.advance(2_000);
  end();
  await clock.settle();
  expect(logger.lines.at(-1)).toMatchObject({
    level: 'info',
    fields: { reading: 'resources', tookMs: 7_000 },
  });
  state.work = async () => undefined;
  await readings.refresh();
  expect([state.begun, state.others]).toEqual([2, 4]);
  expect(logger.lines).toHaveLength(2);
});

it('a reading that fails stops no other, and is logged once as long as it fails in the same way', async () => {
  const { readings, state, logger } = scene();
  const fail = (why: string) => async (): Promise<void> => Promise.reject(new Error(why));
  for (const why of ['it is gone', 'it is gone', 'it is broken']) {
    state.work = fail(why);
    await readings.refresh();
  }
  expect(state.others).toBe(3);
  const told = logger.complaints.map(({ level, fields }) => [
    level,
    fields['reading'],
    String(fields['err']),
  ]);
  expect(told).toEqual([
    ['error', 'resources', 'Error: it is gone'],
    ['error', 'resources', 'Error: it is broken'],
  ]);
  state.work = async () => undefined;
  await readings.refresh();
  state.work = fail('it is broken');
  await readings.refresh();
  expect(logger.complaints).toHaveLength(3);
});

it('nobody waits for readings once the signal has aborted', async () => {
  const { readings, state, clock, logger } = scene();
  state.work = async () => new Promise(() => undefined);
  const abort = new AbortController();
  const refreshing = readings.refresh(abort.signal);
  await clock.settle();
  abort.abort();
  await refreshing;
  expect(logger.lines).toEqual([]);
});

it('a reading of what hardly ever changes is made no more often than it says, and again at once after it failed', async () => {
  const [clock, logger] = [new FakeClock(), new LogRecorder()];
  let [begun, isBroken] = [0, false];
  const read = async (): Promise<void> => {
    begun++;
    if (isBroken) throw new Error('no such file');
    await Promise.resolve();
  };
  const readings = new NodeReadings({
    ...{ deadlineMs: 5_000, clock, logger },
    readings: [{ name: 'huge pages', read, everyMs: 60_000 }],
  });
  const refreshed = async (afterMs: number): Promise<number> => {
    await clock.advance(afterMs);
    await readings.refresh();
    return begun;
  };
  expect([await refreshed(0), await refreshed(59_999), await refreshed(1)]).toEqual([1, 1, 2]);
  isBroken = true;
  expect([await refreshed(60_000), await refreshed(10_000)]).toEqual([3, 4]);
  isBroken = false;
  expect([await refreshed(10_000), await refreshed(10_000)]).toEqual([5, 5]);
});
