import { expect, it } from 'vitest';
import { FakeClock } from '../testing/index.js';
import { formatTimestamp, NanoClock } from './nano-clock.js';

it('never gives the same time twice', () => {
  const time = new NanoClock(new FakeClock());
  const readings = Array.from({ length: 100 }, () => time.now());
  expect(new Set(readings).size).toBe(100);
  expect(readings).toEqual([...readings].sort((a, b) => (a < b ? -1 : 1)));
});

it('writes nine digits behind the point', () => {
  expect(formatTimestamp(1_136_214_245_000_000_007n)).toBe('2006-01-02T15:04:05.000000007Z');
  expect(formatTimestamp(1_136_214_245_999_999_999n)).toBe('2006-01-02T15:04:05.999999999Z');
});
