import { setMaxListeners } from 'node:events';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { RateLimit } from './rate-limit.js';

const signal = new AbortController().signal;
// Everybody waits with the same one.
setMaxListeners(0, signal);

it('lets as many pass at once as it may, and the others one after another, in order', async () => {
  const clock = new FakeClock();
  const limit = new RateLimit({ perSecond: 10, burst: 2, clock });
  const passed: number[] = [];
  for (let i = 0; i < 5; i++) void limit.take(signal).then(() => passed.push(i));
  await clock.advance(0);
  expect(passed).toEqual([0, 1]);
  await clock.advance(100);
  expect(passed).toEqual([0, 1, 2]);
  await clock.advance(200);
  expect(passed).toEqual([0, 1, 2, 3, 4]);
  await clock.advance(60_000);
  await expect(limit.take(signal)).resolves.toBe(0);
  await expect(limit.take(signal)).resolves.toBe(0);
  const waiting = limit.take(signal);
  await clock.advance(100);
  await expect(waiting).resolves.toBe(100);
});

it('takes a turn back from who does not wait for it', async () => {
  const clock = new FakeClock();
  const limit = new RateLimit({ perSecond: 1, burst: 1, clock });
  await limit.take(signal);
  const stop = new AbortController();
  const given = limit.take(stop.signal);
  stop.abort(new Error('enough'));
  await expect(given).rejects.toThrow('enough');
  const next = limit.take(signal);
  await clock.advance(1_000);
  await expect(next).resolves.toBe(1_000);
});

it('may be none', async () => {
  const limit = new RateLimit({ perSecond: Infinity, burst: 1, clock: new FakeClock() });
  for (let i = 0; i < 1_000; i++) expect(await limit.take(signal)).toBe(0);
});

it('lets what is urgent pass first, and the others still one time out of four', async () => {
  const clock = new FakeClock();
  const limit = new RateLimit({ perSecond: 10, burst: 1, clock });
  const passed: string[] = [];
  await limit.take(signal);
  for (let i = 0; i < 20; i++) void limit.take(signal).then(() => passed.push('usual'));
  for (let i = 0; i < 8; i++) void limit.take(signal, 'urgent').then(() => passed.push('urgent'));
  await clock.advance(400);
  expect(passed).toEqual(['urgent', 'urgent', 'urgent', 'usual']);
  await clock.advance(400);
  expect(passed.slice(4)).toEqual(['urgent', 'urgent', 'urgent', 'usual']);
  await clock.advance(2_000);
  expect(passed.filter((each) => each === 'urgent')).toHaveLength(8);
  expect(passed).toHaveLength(28);
});

it('keeps nobody waiting for ever, whoever comes and goes, and never lets more pass than it may', async () => {
  const visits = fc.array(
    fc.record({
      afterMs: fc.integer({ min: 0, max: 300 }),
      isUrgent: fc.boolean(),
      leavesAfterMs: fc.option(fc.integer({ min: 0, max: 2_000 })),
    }),
    { minLength: 1, maxLength: 60 },
  );
  await fc.assert(
    fc.asyncProperty(visits, fc.integer({ min: 1, max: 5 }), async (all, burst) => {
      const [clock, perSecond] = [new FakeClock({ settleRounds: 1 }), 5];
      const limit = new RateLimit({ perSecond, burst, clock });
      const startMs = clock.monotonicMs();
      const passedAtMs: number[] = [];
      let settled = 0;
      for (const { afterMs, isUrgent, leavesAfterMs } of all) {
        await clock.advance(afterMs);
        const stop = new AbortController();
        if (leavesAfterMs !== null) clock.setTimer(leavesAfterMs, () => stop.abort(new Error('left')));
        const passed = limit.take(stop.signal, isUrgent ? 'urgent' : 'usual');
        void passed
          .then(
            () => passedAtMs.push(clock.monotonicMs() - startMs),
            () => undefined,
          )
          .then(() => settled++);
      }
      // All that have not left have had a turn by then, however many came before them.
      await clock.advance((all.length / perSecond) * 1_000 + 2_000);
      expect(settled).toBe(all.length);
      for (const [from, fromMs] of passedAtMs.entries()) {
        for (const [to, toMs] of passedAtMs.entries()) {
          if (to < from) continue;
          expect(to - from + 1).toBeLessThanOrEqual(burst + ((toMs - fromMs) / 1_000) * perSecond + 1e-6);
        }
      }
    }),
    { numRuns: 60 },
  );
});
