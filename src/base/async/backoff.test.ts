import { expect, it } from 'vitest';
import { Backoff } from './backoff.js';

function delays(backoff: Backoff, count: number): number[] {
  return Array.from({ length: count }, () => backoff.nextMs());
}

it('doubles from the first delay to the maximum', () => {
  const backoff = new Backoff({ initialMs: 100, maxMs: 1_000 });
  expect(delays(backoff, 6)).toEqual([100, 200, 400, 800, 1_000, 1_000]);
  expect(backoff.failures).toBe(6);
});

it('starts over after a reset', () => {
  const backoff = new Backoff({ initialMs: 100, maxMs: 1_000, factor: 3 });
  expect(delays(backoff, 2)).toEqual([100, 300]);
  backoff.reset();
  expect(backoff.failures).toBe(0);
  expect(delays(backoff, 2)).toEqual([100, 300]);
});

it('can retry at once, and then count from the first delay', () => {
  const backoff = new Backoff({ initialMs: 100, maxMs: 1_000, firstAtOnce: true });
  expect(delays(backoff, 3)).toEqual([0, 100, 200]);
});

it('randomizes its share and no more', () => {
  const options = { initialMs: 100, maxMs: 1_000, jitter: 0.5 };
  expect(new Backoff({ ...options, random: () => 0 }).nextMs()).toBe(50);
  expect(new Backoff({ ...options, random: () => 0.999_999 }).nextMs()).toBeCloseTo(100, 3);
});

it('stays at the maximum after any number of failures', () => {
  const backoff = new Backoff({ initialMs: 100, maxMs: 60_000 });
  expect(delays(backoff, 5_000).at(-1)).toBe(60_000);
});
