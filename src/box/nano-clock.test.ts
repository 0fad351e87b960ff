import { expect, it } from 'vitest';
import { FakeClock } from '#testing/index.js';
import { NanoClock } from './nano-clock.js';

it('never gives the same time twice', () => {
  const time = new NanoClock(new FakeClock());
  const readings = Array.from({ length: 100 }, () => time.now());
  expect(new Set(readings).size).toBe(100);
  expect(readings).toEqual([...readings].sort((a, b) => (a < b ? -1 : 1)));
});
