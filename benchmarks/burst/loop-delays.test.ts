import { createHistogram } from 'node:perf_hooks';
import { expect, it } from 'vitest';
import { delaysOf } from './loop-delays.js';

const MS = 1_000_000;

it('gives every value back, without the period', () => {
  const histogram = createHistogram();
  const tookMs = [1, 1, 1.5, 3, 0.5, 41];
  for (const ms of tookMs) histogram.record(ms * MS);
  const delays = delaysOf(histogram, 1);
  expect(delays).toHaveLength(tookMs.length);
  for (const [at, ms] of [0, 0, 0, 0.5, 2, 40].entries()) expect(delays[at]).toBeCloseTo(ms, 1);
});

it('loses none of many', () => {
  const histogram = createHistogram();
  for (let i = 1; i <= 1_000; i++) histogram.record(i * MS);
  const delays = delaysOf(histogram, 1);
  expect(delays).toHaveLength(1_000);
  expect(delays.at(-2)).toBeCloseTo(998, -1);
  expect(new Set(delays).size).toBeGreaterThan(900);
});

it('knows nothing of a monitor that never ticked', () => {
  expect(delaysOf(createHistogram(), 1)).toEqual([]);
});
