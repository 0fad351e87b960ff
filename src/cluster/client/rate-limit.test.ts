import { expect, it } from 'vitest';
import { FakeClock } from '../../testing/fake-clock.js';
import { RateLimit } from './rate-limit.js';

const signal = new AbortController().signal;

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
