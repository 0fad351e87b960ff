import { expect, it } from 'vitest';
import { rangeOfTimes } from './chart.js';

it('shows a minute at least, of one moment too', () => {
  expect(rangeOfTimes(1_000, 1_000, false)).toEqual([940, 1_000]);
  expect(rangeOfTimes(1_000, 1_300, false)).toEqual([1_000, 1_300]);
});

it('has room for the last bar, which stands behind its time', () => {
  const [from, to] = rangeOfTimes(1_000, 1_600, true);
  expect(from).toBe(1_000);
  expect(to).toBeGreaterThan(1_600);
});
